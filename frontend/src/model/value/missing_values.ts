/** Why there is no value, no number or no finite element, in words. */

import { counted, formatCount } from '../../lib/text/format';
import type { Snapshot } from '../wire/answers';
import { infinities, isUnknown, type Measures, uncounted } from '../wire/statistics';

/** Whether an import has neither statistics nor a histogram of a snapshot. */
export function hasNoStatistics(row: Measures): boolean {
  return Number.isNaN(row.abs_max) && (isUnknown(row.size) || uncounted(row) > 0);
}

/** Why snapshots have no numbers to draw; null if one of them has some, or there are no snapshots. */
export function noNumbers(rows: readonly (Pick<Snapshot, 'dtype' | 'size'> & Partial<Measures>)[]): string | null {
  if (rows.length === 0) return null;
  const what = counted(rows.length, 'snapshot');
  if (rows.every((row) => row.size === 0)) return `The tensor is empty, so there is nothing to plot (${what}).`;
  if (rows.every((row) => row.dtype !== 'string' && row.abs_max !== undefined && hasNoStatistics(row as Measures)))
    return `The imported data have no statistics or histograms (${what}).`;
  if (rows.some((row) => row.dtype !== 'string' && row.size > 0)) return null;
  return `Text cannot be plotted (${what}); "Value" shows stored strings.`;
}

const finiteElements = (row: Measures) => row.size - row.nan - infinities(row);

/** Says that no element is finite; null if some are. */
export function nothingFinite(row: Snapshot): string | null {
  const finite = finiteElements(row);
  if (row.size === 0 || finite > 0 || Number.isNaN(finite)) return null;
  const all = row.size === 1 ? 'The only element' : `All ${formatCount(row.size)} elements`;
  const verb = row.size === 1 ? 'is' : 'are';
  if (row.nan === row.size) return `${all} ${verb} NaN.`;
  if (row.pos_inf === row.size || row.neg_inf === row.size) return `${all} ${verb} ${row.pos_inf > 0 ? '+Inf' : '-Inf'}.`;
  return `None of the ${formatCount(row.size)} elements is finite: ${formatCount(row.nan)} NaN, ${formatCount(infinities(row))} Inf.`;
}

/** The last step before `step` with a finite element of the tensor, else the first one after it; null if there is none. */
export function lastFiniteStep(rows: readonly Snapshot[], step: number): number | null {
  const steps = rows.filter((row) => row.step !== step && finiteElements(row) > 0).map((row) => row.step);
  const before = steps.filter((other) => other < step);
  if (before.length > 0) return Math.max(...before);
  return steps.length > 0 ? Math.min(...steps) : null;
}
