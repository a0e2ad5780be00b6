import { formatCount } from '../../lib/format';
import type { Snapshot } from '../wire/answers';
import { infinities, type Measures } from '../wire/statistics';

const finiteElements = (row: Measures) => row.size - row.nan - infinities(row);

/** Says so where no element is finite; null where some are. */
export function nothingFinite(row: Snapshot): string | null {
  const finite = finiteElements(row);
  if (row.size === 0 || finite > 0 || Number.isNaN(finite)) return null;
  const all = row.size === 1 ? 'The only element' : `All ${formatCount(row.size)} elements`;
  const verb = row.size === 1 ? 'is' : 'are';
  if (row.nan === row.size) return `${all} ${verb} NaN.`;
  if (row.pos_inf === row.size || row.neg_inf === row.size) return `${all} ${verb} ${row.pos_inf > 0 ? '+Inf' : '-Inf'}.`;
  return `None of the ${formatCount(row.size)} elements is finite: ${formatCount(row.nan)} NaN, ${formatCount(infinities(row))} Inf.`;
}

/** The last step before `step` at which the tensor had a finite element, else the first one after it; null if it never had. */
export function lastFiniteStep(rows: readonly Snapshot[], step: number): number | null {
  const steps = rows.filter((row) => row.step !== step && finiteElements(row) > 0).map((row) => row.step);
  const before = steps.filter((other) => other < step);
  if (before.length > 0) return Math.max(...before);
  return steps.length > 0 ? Math.min(...steps) : null;
}
