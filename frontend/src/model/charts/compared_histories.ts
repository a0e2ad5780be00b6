import type { Pin } from '../run/pins';
import type { Snapshot } from '../wire/answers';
import type { HistorySeries } from './history_series';

/** Statistics by which histories of several tensors can be compared; a new one is one row. */
export const COMPARED = [
  { id: 'mean', label: 'mean' },
  { id: 'std', label: 'std' },
  { id: 'absMax', label: 'max |x|' },
  { id: 'min', label: 'min' },
  { id: 'max', label: 'max' },
  { id: 'l2', label: 'L2 norm' },
  { id: 'zeros', label: '% zeros' },
  { id: 'nan', label: 'NaN' },
  { id: 'inf', label: 'Inf' },
] as const satisfies readonly { id: keyof HistorySeries; label: string }[];

export type ComparedName = (typeof COMPARED)[number]['id'];

export interface ComparedHistory {
  tensor: string;
  /** The run of the series. */
  pin: Pin;
  label: string;
  /** Whether some step has several iterations: the series covers all of them. */
  several: boolean;
  series: HistorySeries;
}

/** Whether some step has snapshots of several iterations. */
export function hasSeveralVisits(rows: readonly Snapshot[]): boolean {
  const first = new Map<number, number>();
  return rows.some(({ step, visit }) => {
    if (!first.has(step)) first.set(step, visit);
    return first.get(step) !== visit;
  });
}

/** The value at a step; NaN if there is none. */
export function valueAt(series: HistorySeries, name: ComparedName, step: number | null): number {
  const at = step === null ? -1 : series.step.indexOf(step);
  return at < 0 ? Number.NaN : (series[name][at] as number);
}

/** The steps selected by a brush over an axis of steps; null if there are none. */
export function brushed(steps: readonly number[], from: number, to: number): { first: number; last: number } | null {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const inside = steps.filter((step) => step >= low && step <= high);
  const [first, last] = [inside[0], inside[inside.length - 1]];
  return first === undefined || last === undefined ? null : { first, last };
}
