import type { Snapshot } from '../wire/answers';
import { infinities } from '../wire/statistics';

/** The history of a tensor as columns for a chart, one entry a step. */
export interface HistorySeries {
  step: number[];
  min: number[];
  max: number[];
  mean: number[];
  /** mean - std and mean + std. */
  lower: number[];
  upper: number[];
  std: number[];
  absMax: number[];
  l2: number[];
  /** Shares of the elements, in percent; NaN where none is finite, as the others are. */
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
  out.step.push(step);
  out.min.push(extreme(group, 'min', Math.min));
  out.max.push(extreme(group, 'max', Math.max));
  out.absMax.push(extreme(group, 'abs_max', Math.max));
  out.mean.push(mean);
  out.std.push(std);
  out.lower.push(mean - std);
  out.upper.push(mean + std);
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
  // As they are: sums and squares of the largest numbers are infinite.
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
