import { COMPARED } from './history_compare';

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
