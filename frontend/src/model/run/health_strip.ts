import type { StepColumns } from '../wire/answers';
import { type Health, healthOf } from '../wire/statistics';

/** One cell of the health strip: the steps at positions `first` to `last` (inclusive) and the worst of them. */
interface HealthCell {
  first: number;
  last: number;
  health: Health;
  nan: number;
  inf: number;
  snapshots: number;
}

/** Merges the steps into at most `cells` cells of nearly equal length; each cell shows its worst step. */
export function healthCells(steps: StepColumns, cells: number): HealthCell[] {
  const count = steps.step.length;
  const used = Math.min(count, Math.max(1, Math.floor(cells)));
  return Array.from({ length: used }, (_, cell) => {
    const first = Math.floor((cell * count) / used);
    const last = Math.floor(((cell + 1) * count) / used) - 1;
    const nan = sum(steps.nan, first, last);
    const inf = sum(steps.inf, first, last);
    return { first, last, health: healthOf(nan, inf), nan, inf, snapshots: sum(steps.snapshots, first, last) };
  });
}

function sum(values: number[], first: number, last: number): number {
  let total = 0;
  for (let i = first; i <= last; i++) total += values[i] ?? 0;
  return total;
}

/** Position of a step on the strip, 0 to 1: the first and the last one at the ends, a single one in the middle. */
export function fractionOf(position: number, count: number): number {
  return count > 1 ? position / (count - 1) : 0.5;
}

/** The position (index of a step) nearest to `fraction` of the strip's width. */
export function positionAt(fraction: number, count: number): number {
  return Math.max(0, Math.min(count - 1, Math.round(fraction * (count - 1))));
}

/** Extent of a cell on the strip: each step reaches half way to its neighbours. */
export function shareOf({ first, last }: Pick<HealthCell, 'first' | 'last'>, count: number): number {
  return Math.max(0, Math.min(1, fractionOf(last + 0.5, count))) - Math.max(0, Math.min(1, fractionOf(first - 0.5, count))) || 1;
}

/** Joins neighbouring cells of equal health, for drawing. */
export function healthRuns(steps: StepColumns, cells: number): HealthCell[] {
  const runs: HealthCell[] = [];
  for (const cell of healthCells(steps, cells)) {
    const last = runs[runs.length - 1];
    if (last && last.health === cell.health) Object.assign(last, { last: cell.last, nan: last.nan + cell.nan, inf: last.inf + cell.inf });
    else runs.push({ ...cell });
  }
  return runs;
}
