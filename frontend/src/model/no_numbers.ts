import { counted } from '../lib/format';
import type { Snapshot } from './answers';

/** Why snapshots have no numbers to draw, and what there is instead; null where one of them has some, or there is none at all. */
export function noNumbers(rows: readonly Pick<Snapshot, 'dtype' | 'size'>[]): string | null {
  if (rows.length === 0) return null;
  const what = counted(rows.length, 'snapshot');
  if (rows.every((row) => row.size === 0)) return `A tensor without elements has no numbers to draw. There ${are(rows)} ${what} of it.`;
  if (rows.some((row) => row.dtype !== 'string' && row.size > 0)) return null;
  return `Text has no numbers to draw. There ${are(rows)} ${what} of it; "Value" shows the strings of those that were kept.`;
}

const are = (rows: readonly unknown[]): string => (rows.length === 1 ? 'is' : 'are');
