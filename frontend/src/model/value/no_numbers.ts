import { counted } from '../../lib/format';
import type { Snapshot } from '../wire/answers';
import { isUnknown, type Measures, uncounted } from '../wire/statistics';

/** Whether the source of an import tells neither statistics nor a histogram of a snapshot. */
export function isUntold(row: Measures): boolean {
  return Number.isNaN(row.abs_max) && (isUnknown(row.size) || uncounted(row) > 0);
}

/** Why snapshots have no numbers to draw, and what there is instead; null where one of them has some, or there is none at all. */
export function noNumbers(rows: readonly (Pick<Snapshot, 'dtype' | 'size'> & Partial<Measures>)[]): string | null {
  if (rows.length === 0) return null;
  const what = counted(rows.length, 'snapshot');
  if (rows.every((row) => row.size === 0)) return `A tensor without elements has no numbers to draw. There ${are(rows)} ${what} of it.`;
  if (rows.every((row) => row.dtype !== 'string' && row.abs_max !== undefined && isUntold(row as Measures)))
    return `The source of the import tells neither statistics nor histograms of it. There ${are(rows)} ${what} of it.`;
  if (rows.some((row) => row.dtype !== 'string' && row.size > 0)) return null;
  return `Text has no numbers to draw. There ${are(rows)} ${what} of it; "Value" shows the strings of those that were kept.`;
}

const are = (rows: readonly unknown[]): string => (rows.length === 1 ? 'is' : 'are');
