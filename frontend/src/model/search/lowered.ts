import type { TextColumn } from '../../lib/columns';

const lowered = new WeakMap<TextColumn, string>();

/** All rows of a column glued together in lower case, made once; it has the column's offsets where `isAscii` holds. */
export function loweredWhole(column: TextColumn): string {
  let whole = lowered.get(column);
  if (whole === undefined) {
    whole = column.whole().toLowerCase();
    lowered.set(column, whole);
  }
  return whole;
}

/** Whether the column's offsets count the characters of `loweredWhole`. */
export const isAscii = (column: TextColumn): boolean => loweredWhole(column).length === column.bytes.length;
