/** Keyboard navigation of lists and tables, and the names of keys on this platform. */

const LIST_MOVES: Record<string, (at: number, count: number, page: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at, _, page) => at + page,
  PageUp: (at, _, page) => at - page,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** The row that a key leads to from row `at`; null for other keys, or without rows. `page`: number of visible rows. */
export function rowAfterKey(key: string, at: number, count: number, page: number): number | null {
  const move = LIST_MOVES[key];
  return move && count > 0 ? within(move(at, count, Math.max(1, page)), count) : null;
}

export interface TablePlace {
  y: number;
  x: number;
}

/** As `rowAfterKey`, in two dimensions: Home and End move along the row, with Ctrl (or Cmd) to the first and last element. */
export function placeAfterKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>,
  at: TablePlace,
  { rows, columns, page }: { rows: number; columns: number; page: number },
): TablePlace | null {
  if (rows === 0 || columns === 0) return null;
  const { key } = event;
  if (key === 'ArrowLeft' || key === 'ArrowRight') return { y: at.y, x: within(at.x + (key === 'ArrowLeft' ? -1 : 1), columns) };
  if (key === 'Home' || key === 'End') {
    const whole = event.ctrlKey || event.metaKey;
    return key === 'Home' ? { y: whole ? 0 : at.y, x: 0 } : { y: whole ? rows - 1 : at.y, x: columns - 1 };
  }
  const y = rowAfterKey(key, at.y, rows, page);
  return y === null ? null : { y, x: at.x };
}

function within(place: number, count: number): number {
  return Math.max(0, Math.min(count - 1, place));
}

// Names of keys on this platform: Ctrl is Cmd on a Mac.

/** `Ctrl+K`, or `⌘ K` on a Mac; other names stay as they are. */
export function keyName(name: string, platform = navigator.platform): string {
  return /Mac|iPhone|iPad/.test(platform) ? name.replace(/^Ctrl\+/, '⌘ ') : name;
}
