/** A tensor's history as columns for a chart: statistics, quantiles, and gaps where steps were not captured. */

import type { Histograms, Snapshot } from '../wire/answers';
import { infinities } from '../wire/statistics';

/** The history of a tensor as columns for a chart, one entry per step. */
export interface HistorySeries {
  step: number[];
  min: number[];
  max: number[];
  mean: number[];
  /** mean - std and mean + std, within the extremes. */
  lower: number[];
  upper: number[];
  std: number[];
  absMax: number[];
  l2: number[];
  /** Shares of the elements, in percent; NaN if none is finite, as in the other columns. */
  zeros: number[];
  nan: number[];
  inf: number[];
}

/** Joins the snapshots of each step (visits, workers): extremes over all, means weighted by the number of finite elements. */
export function historySeries(rows: readonly Snapshot[]): HistorySeries {
  const steps = new Map<number, Snapshot[]>();
  for (const row of rows) {
    const known = steps.get(row.step);
    if (known) known.push(row);
    else steps.set(row.step, [row]);
  }
  const out: HistorySeries = {
    step: [],
    min: [],
    max: [],
    mean: [],
    lower: [],
    upper: [],
    std: [],
    absMax: [],
    l2: [],
    zeros: [],
    nan: [],
    inf: [],
  };
  for (const [step, group] of [...steps].sort(([a], [b]) => a - b)) addStep(out, step, group);
  return out;
}

function addStep(out: HistorySeries, step: number, group: Snapshot[]): void {
  const { mean, std } = pooled(group);
  const size = total(group, (row) => row.size) || 1;
  const [low, high] = [extreme(group, 'min', Math.min), extreme(group, 'max', Math.max)];
  out.step.push(step);
  out.min.push(low);
  out.max.push(high);
  out.absMax.push(extreme(group, 'abs_max', Math.max));
  out.mean.push(mean);
  out.std.push(std);
  // No element exceeds the extremes, so the band does not either.
  out.lower.push(Number.isNaN(low) ? mean - std : Math.max(low, mean - std));
  out.upper.push(Number.isNaN(high) ? mean + std : Math.min(high, mean + std));
  out.l2.push(Math.sqrt(total(group, (row) => (row.l2 || 0) ** 2)));
  out.zeros.push(total(group, finiteElements) === 0 ? Number.NaN : (100 * total(group, (row) => row.zero)) / size);
  out.nan.push(total(group, (row) => row.nan));
  out.inf.push(total(group, infinities));
}

function total(group: Snapshot[], pick: (row: Snapshot) => number): number {
  return group.reduce((sum, row) => sum + pick(row), 0);
}

function extreme(group: Snapshot[], name: 'min' | 'max' | 'abs_max', choose: (...values: number[]) => number): number {
  const finite = group.map((row) => row[name]).filter((value) => !Number.isNaN(value));
  return finite.length === 0 ? Number.NaN : choose(...finite);
}

function pooled(group: Snapshot[]): { mean: number; std: number } {
  const finite = group.filter((row) => !Number.isNaN(row.mean));
  const [only] = finite;
  // Scaled, because sums and squares of the largest numbers overflow.
  if (only !== undefined && finite.length === 1) return { mean: only.mean, std: only.std };
  const count = total(finite, finiteElements);
  if (count === 0) return { mean: Number.NaN, std: Number.NaN };
  const mean = total(finite, (row) => row.mean * finiteElements(row)) / count;
  const variance = total(finite, (row) => (row.std ** 2 + (row.mean - mean) ** 2) * finiteElements(row)) / count;
  return { mean, std: Math.sqrt(variance) };
}

function finiteElements(row: Snapshot): number {
  return row.size - row.nan - infinities(row);
}

/** Quantiles over steps, read from histograms. */
export interface QuantileSeries {
  step: number[];
  p5: number[];
  p25: number[];
  median: number[];
  p75: number[];
  p95: number[];
}

const SHARES = { p5: 0.05, p25: 0.25, median: 0.5, p75: 0.75, p95: 0.95 } as const;
type QuantileName = keyof typeof SHARES;
const NAMES = Object.keys(SHARES) as QuantileName[];

/**
 * Quantiles from stored buckets: the bucket is exact, the position inside it is interpolated. Buckets end at powers of two and 1.5 times
 * those, so the error is below a factor of 1.5; finite elements only.
 */
export function quantileSeries(histograms: Histograms): QuantileSeries {
  const out: QuantileSeries = { step: [], p5: [], p25: [], median: [], p75: [], p95: [] };
  for (const row of histograms.rows) {
    if (row.counts.every((count) => count === 0)) continue;
    out.step.push(row.step);
    for (const name of NAMES) out[name].push(quantile(histograms, row, SHARES[name]));
  }
  return out;
}

type Row = Histograms['rows'][number];

/** NaN if nothing was counted. */
export function quantile({ edges, zero_bucket }: Pick<Histograms, 'edges' | 'zero_bucket'>, row: Row, share: number): number {
  const total = row.counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return Number.NaN;
  const wanted = share * total;
  let below = 0;
  for (const [i, count] of row.counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      if (i === zero_bucket) return 0;
      const left = held(edges[i] as number, row);
      const right = held(edges[i + 1] as number, row);
      return left + ((right - left) * (wanted - below)) / count;
    }
    below += count;
  }
  return row.max;
}

/** The outermost buckets end at the smallest and largest element. */
function held(edge: number, { min, max }: Row): number {
  return Math.max(Number.isNaN(min) ? edge : min, Math.min(Number.isNaN(max) ? edge : max, edge));
}

// Lines end where steps were not captured, because nothing was measured there.

/** A gap is longer than the usual distance by this factor. */
const MANY_TIMES = 8;
/** With fewer distances there is no usual one. */
const FEWEST = 3;

/** Drawing order of the entries: their positions, with -1 where steps are missing in between. @param steps ascending */
export function drawnOrder(steps: readonly number[]): number[] {
  const distances = steps.slice(1).map((step, i) => step - (steps[i] as number));
  const usual = distances.length < FEWEST ? Number.POSITIVE_INFINITY : lowerMedian(distances);
  return steps.flatMap((_, i) => ((distances[i - 1] ?? 0) > MANY_TIMES * usual ? [-1, i] : [i]));
}

function lowerMedian(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number;
}

/** A column in that order, with NaN at gaps. */
export function inOrder(order: readonly number[], column: readonly number[]): number[] {
  return order.map((i) => (i < 0 ? Number.NaN : (column[i] as number)));
}

/** Numbers without a neighbour, which no line reaches. */
export function alone(column: readonly number[]): boolean[] {
  const known = (i: number) => Number.isFinite(column[i]);
  return column.map((_, i) => known(i) && !known(i - 1) && !known(i + 1));
}

/** The outline of the area between two columns: one closed outline per run of steps with both, separated by NaN. */
export function outline(x: readonly number[], low: readonly number[], high: readonly number[]): { x: number[]; y: number[] } {
  const out = { x: [] as number[], y: [] as number[] };
  let run: number[] = [];
  const close = () => {
    if (run.length > 1) {
      const back = [...run].reverse();
      out.x.push(...[...run, ...back].map((i) => x[i] as number), Number.NaN);
      out.y.push(...run.map((i) => low[i] as number), ...back.map((i) => high[i] as number), Number.NaN);
    }
    run = [];
  };
  for (let i = 0; i < x.length; i++) {
    if (Number.isFinite(low[i]) && Number.isFinite(high[i])) run.push(i);
    else close();
  }
  close();
  return out;
}
