/** What the cards of the layer view can be coloured by. */

export const CARD_COLOUR_TITLES = {
  health: 'Health',
  gradientNorm: 'Gradient norm',
  updateRatio: 'Update / weight',
  zeroShare: '% zeros',
  std: 'Std of output',
  absMax: 'Max |x| of output',
  mean: 'Mean of output',
  parameters: 'Parameters',
  class: 'Layer class',
} as const;
export type CardColour = keyof typeof CARD_COLOUR_TITLES;
export const CARD_COLOURS = Object.keys(CARD_COLOUR_TITLES) as CardColour[];
