/** Settings of charts and of exported pictures, read back from an address or the browser's storage. */

import { COMPARED } from '../charts/compared_histories';

/** How the charts over steps are drawn, by its name in the address; adding one is one row. */
export const CHART_CHOICES = {
  /** Histograms: behind each other, over each other, as colours, or one alone; and the axis of values. */
  chart: ['ridgeline', 'overlay', 'heatmap', 'step'],
  axis: ['symlog', 'linear'],
  /** A history: what its band is, and whether its axes are logarithmic. */
  band: ['spread', 'quantiles'],
  log: ['0', '1'],
  /** Histories of pinned tensors: the selected one alone, over each other or one below the other, and by which statistic. */
  histories: ['one', 'overlay', 'multiples'],
  by: COMPARED.map(({ id }) => id),
} as const;

export type ChartChoice = keyof typeof CHART_CHOICES;

/** What is chosen of each; null where an address does not say, which leaves it as it is. */
export type ChartChoices = { [K in ChartChoice]: (typeof CHART_CHOICES)[K][number] | null };

export const NO_CHART_CHOICES: ChartChoices = { chart: null, axis: null, band: null, log: null, histories: null, by: null };

/** Reads the choices out of the parts of an address; what is not among them is null. */
export function readChartChoices(text: (name: ChartChoice) => string | undefined): ChartChoices {
  const names = Object.keys(CHART_CHOICES) as ChartChoice[];
  const read = (name: ChartChoice) => CHART_CHOICES[name].find((choice) => choice === text(name)) ?? null;
  return Object.fromEntries(names.map((name) => [name, read(name)])) as ChartChoices;
}

/** What can be wanted of a picture of the graph. */
export interface PictureSettings {
  /** The current view, or the whole graph as it is laid out. */
  readonly what: 'shown' | 'whole';
  readonly format: 'svg' | 'png';
  /** Pixels of a PNG for each pixel of the page. */
  readonly scale: PictureScale;
  readonly legend: boolean;
  readonly caption: boolean;
}

export const PICTURE_SCALES = [1, 2, 4] as const;
export type PictureScale = (typeof PICTURE_SCALES)[number];

export const DEFAULT_PICTURE: PictureSettings = { what: 'shown', format: 'svg', scale: 2, legend: true, caption: true };

/** Settings that were stored, as far as they are valid. */
export function readPictureSettings(stored: unknown): PictureSettings | null {
  if (typeof stored !== 'object' || stored === null) return null;
  const { what, format, scale, legend, caption } = stored as Record<string, unknown>;
  return {
    what: what === 'whole' ? 'whole' : 'shown',
    format: format === 'png' ? 'png' : 'svg',
    scale: PICTURE_SCALES.find((known) => known === scale) ?? DEFAULT_PICTURE.scale,
    legend: legend !== false,
    caption: caption !== false,
  };
}
