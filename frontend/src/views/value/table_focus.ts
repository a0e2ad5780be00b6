import { useEffect } from 'preact/hooks';
import { placeAfterKey, type TablePlace } from '../../lib/keyboard';
import { scrollScale, scrollTo, type VirtualWindow, virtualWindow } from '../../lib/virtual_scroll';
import { dimOf, fullIndex } from '../../model/value/dims';
import type { TiledPlane } from '../../state/tensors/tiles';
import { focusedElement } from '../../state/tensors/value';

/** Sizes in pixels: of a row, a column, and the space beside their heads. */
interface Sizes {
  readonly row: number;
  readonly column: number;
  readonly height: number;
  readonly width: number;
}

/** Moves the focused element by a key; the first key selects the top left visible element. */
export function moveFocus(event: KeyboardEvent, plane: TiledPlane, sizes: Sizes, scroll: { top: number; left: number }): void {
  const size = { rows: plane.rows, columns: plane.columns, page: Math.floor(sizes.height / sizes.row) - 1 };
  const from = placeOf(focusedElement.value, plane);
  const next = placeAfterKey(event, from ?? { y: 0, x: 0 }, size);
  if (next === null || event.altKey) return;
  event.preventDefault();
  const place = from === null && event.key.startsWith('Arrow') ? firstInView(scroll, sizes, size) : next;
  focusedElement.value = fullIndex(plane.mapping, place);
}

/** Position of an element in the table; null for none, or one of another slice. */
function placeOf(element: readonly number[] | null, { mapping: roles, rows, columns }: TiledPlane): TablePlace | null {
  if (element === null || element.length !== roles.length) return null;
  if (roles.some((role, dim) => typeof role === 'number' && role !== element[dim])) return null;
  const at = (axis: 'y' | 'x') => element[dimOf(roles, axis)] ?? 0;
  return at('y') < rows && at('x') < columns ? { y: at('y'), x: at('x') } : null;
}

function firstInView(scroll: { top: number; left: number }, sizes: Sizes, size: { rows: number; columns: number }): TablePlace {
  const { first: y } = virtualWindow(scroll.top, 0, sizes.row, size.rows, 0);
  const { first: x } = virtualWindow(scroll.left, 0, sizes.column, size.columns, 0);
  return { y: Math.min(y, size.rows - 1), x: Math.min(x, size.columns - 1) };
}

export const cellId = (y: number, x: number) => `element-${y}-${x}`;

/** Id of the focused element, if it is drawn. */
export function drawnFocus(plane: TiledPlane, rows: VirtualWindow, columns: VirtualWindow): string | undefined {
  const at = placeOf(focusedElement.value, plane);
  const drawn = at && at.y >= rows.first && at.y < rows.last && at.x >= columns.first && at.x < columns.last;
  return drawn ? cellId(at.y, at.x) : undefined;
}

/** Scrolls to an element: after a jump to the middle; for keys as little as possible. */
export function useFocus(ref: { current: HTMLElement | null }, plane: TiledPlane | null, sizes: Sizes): void {
  const focus = focusedElement.value;
  useEffect(() => {
    const at = plane && placeOf(focus, plane);
    const element = ref.current;
    if (!at || !element || sizes.height <= 0) return;
    element.scrollTo({
      top: edgeOf(at.y, element.scrollTop, sizes.height, sizes.row, plane.rows),
      left: edgeOf(at.x, element.scrollLeft, sizes.width, sizes.column, plane.columns),
    });
  }, [focus, plane, sizes.height <= 0]);
}

/** Scroll position that shows an item: unchanged if visible, by one item if that is enough, else centred. */
function edgeOf(index: number, scroll: number, viewport: number, item: number, count: number): number {
  const scale = scrollScale(viewport, item, count);
  const [first, last] = [index * item, (index + 1) * item - viewport];
  const shown = scroll * scale;
  if (first >= shown && last <= shown) return scroll;
  if (first < shown && shown - first <= item) return first / scale;
  if (last > shown && last - shown <= item) return last / scale;
  return scrollTo(index, viewport, item, count);
}
