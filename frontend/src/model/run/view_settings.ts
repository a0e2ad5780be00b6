/** Settings of charts and exported pictures, parsed from an address or the browser's storage. */

import { COMPARED } from '../charts/compared_histories';

/** Kinds of charts over steps, by their names in the address; a new one is one row. */
export const CHART_CHOICES = {
  /** Histograms: ridgeline, overlay, heatmap or one step; and the value axis. */
  chart: ['ridgeline', 'overlay', 'heatmap', 'step'],
  axis: ['symlog', 'linear'],
  /** History: the kind of band, and logarithmic axes. */
  band: ['spread', 'quantiles'],
  log: ['0', '1'],
  /** Histories of pinned tensors: only the selected one, overlaid or stacked; and the statistic. */
  histories: ['one', 'overlay', 'multiples'],
  by: COMPARED.map(({ id }) => id),
} as const;

export type ChartChoice = keyof typeof CHART_CHOICES;

/** The choice for each; null if an address does not contain it, which changes nothing. */
export type ChartChoices = { [K in ChartChoice]: (typeof CHART_CHOICES)[K][number] | null };

export const NO_CHART_CHOICES: ChartChoices = { chart: null, axis: null, band: null, log: null, histories: null, by: null };

/** Parses the choices in the fields of an address; missing ones are null. */
export function readChartChoices(text: (name: ChartChoice) => string | undefined): ChartChoices {
  const names = Object.keys(CHART_CHOICES) as ChartChoice[];
  const read = (name: ChartChoice) => CHART_CHOICES[name].find((choice) => choice === text(name)) ?? null;
  return Object.fromEntries(names.map((name) => [name, read(name)])) as ChartChoices;
}

/** Options of an exported picture of the graph. */
export interface PictureSettings {
  /** The current view, or the whole graph as it is laid out. */
  readonly what: 'shown' | 'whole';
  readonly format: 'svg' | 'png';
  /** PNG pixels per pixel of the page. */
  readonly scale: PictureScale;
  readonly legend: boolean;
  readonly caption: boolean;
}

export const PICTURE_SCALES = [1, 2, 4] as const;
export type PictureScale = (typeof PICTURE_SCALES)[number];

export const DEFAULT_PICTURE: PictureSettings = { what: 'shown', format: 'svg', scale: 2, legend: true, caption: true };

/** Stored settings, as far as they are valid. */
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
