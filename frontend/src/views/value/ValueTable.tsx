import { useEffect, useMemo, useState } from 'preact/hooks';
import { scrollTo, virtualWindow } from '../../lib/virtual';
import type { Snapshot } from '../../model/answers';
import { dimOf, fullIndex } from '../../model/dims';
import { exactDigits, isInteger } from '../../model/dtypes';
import { numberAt, textAt } from '../../model/elements';
import { samplePosition, unravel } from '../../model/sample';
import { elementChange } from '../../model/what_ifs';
import { view } from '../../state/choices';
import { snapshot } from '../../state/node';
import { draft } from '../../state/stepper';
import { TiledPlane } from '../../state/tiles';
import { focusedElement, keyText, mapping, snapshotKey } from '../../state/value';
import { Failure } from '../kit/Message';
import { useSize } from '../kit/use_size';

const ROW = 24;
const HEAD = 56;

/** Exact numbers of a matrix; only what is in view is drawn, and fetched where the matrix is large. */
export function ValueTable({ row }: { row: Snapshot }) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const [scroll, setScroll] = useState({ top: 0, left: 0 });
  const key = keyText.value;
  const roles = mapping.value;
  const plane = useMemo(() => {
    const of = snapshotKey.peek();
    return of && new TiledPlane(of, row.shape, roles);
  }, [key, roles, row.shape]);
  useEffect(() => () => plane?.dispose(), [plane]);
  useFocus(ref, plane, columnWidth(row), height, width);
  if (!plane) return null;
  if (plane.error.value) return <Failure error={plane.error.value} retry={() => setScroll({ ...scroll })} />;

  const rows = virtualWindow(scroll.top, height - ROW, ROW, plane.rows);
  const columns = virtualWindow(scroll.left, width - HEAD, columnWidth(row), plane.columns, 1);
  return (
    <section
      class="value-table num"
      ref={ref}
      tabIndex={0}
      aria-label="Elements"
      data-testid="value-table"
      onDblClick={editElement}
      onScroll={(event) => setScroll({ top: event.currentTarget.scrollTop, left: event.currentTarget.scrollLeft })}
    >
      <div class="value-space" style={{ height: `${rows.total + ROW}px`, width: `${columns.total + HEAD}px` }}>
        <ColumnHead columns={columns} item={columnWidth(row)} single={dimOf(roles, 'x') < 0} />
        <div class="value-rows" style={{ top: `${rows.offset + ROW}px` }}>
          {range(rows.first, rows.last).map((y) => (
            <TableRow key={y} y={y} plane={plane} columns={columns} row={row} />
          ))}
        </div>
      </div>
    </section>
  );
}

/** In the stepper, a double click puts the element into the box that changes the tensor. */
function editElement(event: MouseEvent): void {
  const cell = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('[data-index]') : null;
  if (view.value !== 'stepper' || !cell) return;
  draft.value = elementChange(cell.dataset.index ?? '', cell.textContent ?? '');
  document.querySelector<HTMLInputElement>('.override-text')?.focus();
}

/** Room for the longest number of the dtype. */
function columnWidth(row: Snapshot): number {
  if (row.dtype === 'string') return 180;
  if (row.dtype === 'bool') return 52;
  if (row.dtype.startsWith('complex')) return 200;
  if (isInteger(row.dtype))
    return 24 + 7.5 * Math.max(4, String(Math.round(Math.max(Math.abs(row.min) || 0, Math.abs(row.max) || 0))).length + 1);
  return 34 + 8 * exactDigits(row.dtype);
}

const range = (first: number, last: number) => Array.from({ length: last - first }, (_, i) => first + i);

type Window = ReturnType<typeof virtualWindow>;

function ColumnHead({ columns, item, single }: { columns: Window; item: number; single: boolean }) {
  return (
    <div class="value-head">
      <span class="value-corner" />
      <span style={{ width: `${columns.offset}px` }} class="value-gap" />
      {range(columns.first, columns.last).map((x) => (
        <span key={x} class="value-index" style={{ width: `${item}px` }}>
          {single ? 'value' : x}
        </span>
      ))}
    </div>
  );
}

function TableRow({ y, plane, columns, row }: { y: number; plane: TiledPlane; columns: Window; row: Snapshot }) {
  plane.arrived.value;
  const focus = focusedElement.value?.join(',');
  return (
    <div class="value-row">
      <span class="value-index">{y}</span>
      <span style={{ width: `${columns.offset}px` }} class="value-gap" />
      {range(columns.first, columns.last).map((x) => {
        const index = fullIndex(plane.mapping, { y, x }).join(',');
        return <Cell key={x} index={index} place={plane.at(y, x)} row={row} focused={index === focus} />;
      })}
    </div>
  );
}

function Cell({ index, place, row, focused }: { index: string; place: ReturnType<TiledPlane['at']>; row: Snapshot; focused: boolean }) {
  const width = { width: `${columnWidth(row)}px` };
  if (!place) return <span class="value-cell" style={width} data-pending="true" />;
  const text = textAt(place.slice.array, place.offset, row.dtype);
  return (
    <span
      class={`value-cell ${kindOf(numberAt(place.slice.array, place.offset), row)}`}
      style={width}
      title={`${indexText(index)} = ${text}`}
      data-testid="value-cell"
      data-index={index}
      data-focused={focused}
    >
      {text}
    </span>
  );
}

/** An element of a sample says where in the whole it stood. */
function indexText(index: string): string {
  const whole = snapshot.peek();
  const at = `[${index.replaceAll(',', ', ')}]`;
  if (!whole?.sample) return at;
  return `${at} of the sample, [${unravel(samplePosition(whole.sample, whole.size, Number(index)), whole.shape).join(', ')}] of the whole`;
}

function kindOf(value: number, row: Snapshot): string {
  if (row.dtype === 'string') return 'text';
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return 'inf';
  return value === 0 ? 'zero' : '';
}

/** Scrolls to the element that was jumped to. */
function useFocus(ref: { current: HTMLDivElement | null }, plane: TiledPlane | null, item: number, height: number, width: number): void {
  const focus = focusedElement.value;
  useEffect(() => {
    if (!focus || !plane || !ref.current) return;
    const at = (axis: 'y' | 'x') => focus[dimOf(plane.mapping, axis)] ?? 0;
    ref.current.scrollTo({
      top: scrollTo(at('y'), height - ROW, ROW, plane.rows),
      left: scrollTo(at('x'), width - HEAD, item, plane.columns),
    });
  }, [focus, plane]);
}
