import type { Snapshot, StepColumns } from '../wire/answers';
import { infinities } from '../wire/statistics';

/** Navigation in an ascending list of steps. An empty list, or no step, gives null. */
export function indexOfStep(steps: readonly number[], step: number | null): number {
  if (step === null) return -1;
  let low = 0;
  let high = steps.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const value = steps[middle] as number;
    if (value === step) return middle;
    if (value < step) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Whether the newest step of a growing run may be incomplete: it has fewer snapshots than the previous step, and no later step exists. */
export function halfWritten({ snapshots }: Pick<StepColumns, 'snapshots'>, index: number, live: boolean): boolean {
  const [here, before] = [snapshots[index], snapshots[index - 1]];
  return live && index === snapshots.length - 1 && here !== undefined && before !== undefined && here < before;
}

/** Index of the newest complete step; -1 without a step. */
export function latestWhole(steps: Pick<StepColumns, 'snapshots'>, live: boolean): number {
  const last = steps.snapshots.length - 1;
  return halfWritten(steps, last, live) ? last - 1 : last;
}

/** The step nearest to `step`; the earlier one of two that are equally near. */
export function nearestStep(steps: readonly number[], step: number): number | null {
  let best: number | null = null;
  for (const candidate of steps) {
    if (best === null || Math.abs(candidate - step) < Math.abs(best - step)) best = candidate;
  }
  return best;
}

/** The step `offset` positions after `step` (or its nearest neighbour), clamped at the ends. */
export function moveStep(steps: readonly number[], step: number | null, offset: number): number | null {
  if (steps.length === 0) return null;
  if (step === null) return steps[steps.length - 1] as number;
  const from = indexOfStep(steps, nearestStep(steps, step));
  return steps[Math.max(0, Math.min(steps.length - 1, from + offset))] as number;
}

/** The last step before and the first step after `step`. */
export function neighbourSteps(steps: readonly number[], step: number): { before: number | null; after: number | null } {
  let before: number | null = null;
  let after: number | null = null;
  for (const candidate of steps) {
    if (candidate < step) before = candidate;
    if (candidate > step && after === null) after = candidate;
  }
  return { before, after };
}

/** The steps from `first` to `last`; null if there are none. */
export function within(columns: StepColumns, { first, last }: { first: number; last: number }): StepColumns | null {
  const from = columns.step.findIndex((step) => step >= first);
  const after = columns.step.findIndex((step) => step > last);
  const end = after < 0 ? columns.step.length : after;
  if (from < 0 || from >= end) return null;
  const cut = (values: number[]) => values.slice(from, end);
  const { step, time, snapshots, nan, inf } = columns;
  return { step: cut(step), time: cut(time), snapshots: cut(snapshots), nan: cut(nan), inf: cut(inf) };
}

// Which snapshot of a tensor at a step is shown.

/** Iterations with snapshots, ascending. */
export function visitsOf(rows: readonly Snapshot[]): number[] {
  return [...new Set(rows.map((row) => row.visit))].sort((a, b) => a - b);
}

/**
 * The snapshot of the requested iteration (else the first with NaN or Inf, else the first), of the latest worker; null if there is none.
 */
export function snapshotAt(rows: readonly Snapshot[], visit: number | null): Snapshot | null {
  const visits = visitsOf(rows);
  const [bad] = visitsOf(rows.filter((row) => row.nan + infinities(row) > 0));
  const wanted = visits.includes(visit ?? -1) ? visit : (bad ?? visits[0]);
  return rows
    .filter((row) => row.visit === wanted)
    .reduce<Snapshot | null>((latest, row) => (latest === null || row.time >= latest.time ? row : latest), null);
}
