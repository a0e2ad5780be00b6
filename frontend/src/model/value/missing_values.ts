/** Why there is no value, no number or nothing finite to show, in words. */

import { counted, formatCount } from '../../lib/format';
import type { NoValueReason, Snapshot } from '../wire/answers';
import { infinities, isUnknown, type Measures, uncounted } from '../wire/statistics';

/** Whether the source of an import tells neither statistics nor a histogram of a snapshot. */
export function hasNoStatistics(row: Measures): boolean {
  return Number.isNaN(row.abs_max) && (isUnknown(row.size) || uncounted(row) > 0);
}

/** Why snapshots have no numbers to draw, and what there is instead; null where one of them has some, or there is none at all. */
export function noNumbers(rows: readonly (Pick<Snapshot, 'dtype' | 'size'> & Partial<Measures>)[]): string | null {
  if (rows.length === 0) return null;
  const what = counted(rows.length, 'snapshot');
  if (rows.every((row) => row.size === 0)) return `A tensor without elements has no numbers to draw. There ${are(rows)} ${what} of it.`;
  if (rows.every((row) => row.dtype !== 'string' && row.abs_max !== undefined && hasNoStatistics(row as Measures)))
    return `The source of the import has no statistics or histograms. There ${are(rows)} ${what} of it.`;
  if (rows.some((row) => row.dtype !== 'string' && row.size > 0)) return null;
  return `Text has no numbers to draw. There ${are(rows)} ${what} of it; "Value" shows the strings of those that were kept.`;
}

const are = (rows: readonly unknown[]): string => (rows.length === 1 ? 'is' : 'are');

interface NoValueWords {
  title: string;
  text: string;
}

/** Those of the command line. */
const WORDS: Record<Exclude<NoValueReason, 'summary'>, NoValueWords> = {
  source: { title: 'Value not stored', text: 'The source of the import has no value for it.' },
  pruned: {
    title: 'The value was pruned',
    text: 'Pruned to save space (see keep_last, max_bytes, tensortap prune).',
  },
  refused: {
    title: 'The value was lost',
    text: 'The disk refused it when it was written, as a full one does; make room before it is captured again.',
  },
  damaged: {
    title: 'The value was lost',
    text: 'It was missing or damaged when the run was repaired; the run as it was before the repair says what was wrong.',
  },
};

/** Of two values that are compared: why they are not both there, and what would tell more. */
export function valuesMissing(a: NoValueReason | '' | undefined, b: NoValueReason | '' | undefined): string {
  const sides = [
    { name: 'A', reason: a || null },
    { name: 'B', reason: b || null },
  ];
  const told = sides.flatMap(({ name, reason }) =>
    reason === null || reason === 'summary' ? [] : [`${name}: ${WORDS[reason].title}. ${WORDS[reason].text}`],
  );
  const asked = sides.filter(({ reason }) => reason === 'summary').map(({ name }) => name);
  if (asked.length === 2) told.push('Values not stored: Watch(keep="value") in both runs shows them.');
  else if (asked[0] !== undefined) told.push(`${asked[0]}: Value not stored. Watch(keep="value") keeps it.`);
  return told.join(' ') || 'Values above 64 MiB, and those that cannot be read, are compared by their summaries.';
}

/** What to say of a value that is not there; null where it was never asked for, and can be. */
export function noValueWords(row: Snapshot): NoValueWords | null {
  const reason = row.no_value || (row.pruned ? 'pruned' : 'summary');
  return reason === 'summary' ? null : (WORDS[reason] ?? null);
}

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
