import { useEffect, useMemo, useState } from 'preact/hooks';
import { virtualWindow } from '../../lib/virtual_scroll';
import { dimOf, fullIndex } from '../../model/value/dims';
import { exactDigits, isInteger, numberAt, textAt } from '../../model/value/elements';
import { samplePosition, unravel } from '../../model/value/sample';
import type { Snapshot } from '../../model/wire/answers';
import { elementChange } from '../../model/wire/what_ifs';
import { snapshot } from '../../state/graph/node';
import { view } from '../../state/page/choices';
import { draft } from '../../state/replay/replay_cursor';
import { TiledPlane } from '../../state/tensors/tiles';
import { focusedElement, keyText, mapping, snapshotKey } from '../../state/tensors/value';
import { useSize, useThrottled } from '../kit/hooks';
import { Failure } from '../kit/Message';
import { cellId, drawnFocus, moveFocus, useFocus } from './table_focus';

const ROW = 24;
const HEAD = 56;

/** Exact numbers of a matrix; only the visible part is drawn, and fetched if the matrix is large. */
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
  const sizes = { row: ROW, column: columnWidth(row), height: height - ROW, width: width - HEAD };
  useFocus(ref, plane, sizes);
  const rows = virtualWindow(scroll.top, height - ROW, ROW, plane?.rows ?? 0);
  const columns = virtualWindow(scroll.left, width - HEAD, columnWidth(row), plane?.columns ?? 0, 1);
  useThrottled(() => plane?.load(rows, columns), [plane, rows.first, rows.last, columns.first, columns.last, plane?.arrived.value]);
  if (!plane) return null;
  if (plane.error.value) return <Failure error={plane.error.value} retry={plane.retry} />;

  return (
    <div
      class="value-table num"
      ref={ref}
      role="grid"
      tabIndex={0}
      aria-label="Elements"
      aria-rowcount={plane.rows + 1}
      aria-colcount={plane.columns + 1}
      aria-activedescendant={drawnFocus(plane, rows, columns)}
      data-testid="value-table"
      onDblClick={editElement}
      onKeyDown={(event) => (event.key === 'Enter' ? editElement(event) : moveFocus(event, plane, sizes, scroll))}
      onScroll={(event) => setScroll({ top: event.currentTarget.scrollTop, left: event.currentTarget.scrollLeft })}
    >
      <div class="value-space" role="presentation" style={{ height: `${rows.total + ROW}px`, width: `${columns.total + HEAD}px` }}>
        <ColumnHead columns={columns} item={columnWidth(row)} single={dimOf(roles, 'x') < 0} />
        <div class="value-rows" role="rowgroup" style={{ top: `${rows.offset + ROW}px` }}>
          {/* Rows and cells that leave make way in place: new elements take longer than new texts. */}
          {range(rows.first, rows.last).map((y) => (
            <TableRow key={y % (rows.last - rows.first)} y={y} plane={plane} columns={columns} row={row} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** In Replay, Enter or a double click copies the element into the box that changes the tensor. */
function editElement(event: MouseEvent | KeyboardEvent): void {
  const target = event instanceof KeyboardEvent ? document.querySelector('.value-cell[data-focused="true"]') : event.target;
  const cell = target instanceof HTMLElement ? target.closest<HTMLElement>('[data-index]') : null;
  if (view.value !== 'stepper' || !cell) return;
  draft.value = elementChange(cell.dataset.index ?? '', cell.textContent ?? '');
  event.preventDefault();
  document.querySelector<HTMLInputElement>('.override-text')?.focus();
}

/** Room for the longest number of the dtype. */
function columnWidth(row: Snapshot): number {
  if (row.dtype === 'string') return 180;
  if (row.dtype === 'bool') return 52;
  if (row.dtype.startsWith('complex')) return 200;
  if (isInteger(row.dtype))
    return 24 + 7.5 * Math.max(4, String(Math.round(Math.max(Math.abs(row.min) || 0, Math.abs(row.max) || 0))).length + 1);
  return 16 + 6.8 * (exactDigits(row.dtype) + 6); // sign, point, and an exponent as e-38; points and signs are narrow
}

const range = (first: number, last: number) => Array.from({ length: last - first }, (_, i) => first + i);

type Window = ReturnType<typeof virtualWindow>;

function ColumnHead({ columns, item, single }: { columns: Window; item: number; single: boolean }) {
  return (
    <div class="value-head" role="row" aria-rowindex={1}>
      <span class="value-corner" role="presentation" />
      <span style={{ width: `${columns.offset}px` }} class="value-gap" role="presentation" />
      {range(columns.first, columns.last).map((x) => (
        <span key={x} class="value-index" role="columnheader" aria-colindex={x + 2} style={{ width: `${item}px` }}>
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
    <div class="value-row" role="row" aria-rowindex={y + 2}>
      <span class="value-index" role="rowheader" aria-colindex={1}>
        {y}
      </span>
      <span style={{ width: `${columns.offset}px` }} class="value-gap" role="presentation" />
      {range(columns.first, columns.last).map((x) => {
        const index = fullIndex(plane.mapping, { y, x }).join(',');
        return (
          <Cell
            key={x % (columns.last - columns.first)}
            id={cellId(y, x)}
            x={x}
            index={index}
            place={plane.at(y, x)}
            row={row}
            focused={index === focus}
          />
        );
      })}
    </div>
  );
}

interface CellProps {
  id: string;
  x: number;
  index: string;
  place: ReturnType<TiledPlane['at']>;
  row: Snapshot;
  focused: boolean;
}

function Cell({ id, x, index, place, row, focused }: CellProps) {
  const width = { width: `${columnWidth(row)}px` };
  const grid = { id, role: 'gridcell' as const, 'aria-colindex': x + 2, 'aria-selected': focused, 'data-focused': focused };
  if (!place) return <span class="value-cell" {...grid} style={width} data-pending="true" />;
  const text = textAt(place.slice.array, place.offset, row.dtype);
  const number = numberAt(place.slice.array, place.offset);
  return (
    <span
      {...grid}
      class={`value-cell ${kindOf(number, row)}`}
      style={{ ...width, ...shade(number, row) }}
      title={`${indexText(index)} = ${text}`}
      data-testid="value-cell"
      data-index={index}
    >
      {text}
    </span>
  );
}

/** Strongest shade with readable text. */
const SHADE = 0.32;

/** Positive numbers on blue, negative ones on orange: stronger for larger magnitudes. */
function shade(number: number, row: Snapshot): { backgroundColor?: string } {
  const part = Math.abs(number) / row.abs_max;
  if (row.dtype === 'string' || !(part > 0) || !Number.isFinite(part)) return {};
  return { backgroundColor: `rgb(${number > 0 ? '59 100 220' : '222 120 20'} / ${(SHADE * Math.min(1, part)).toFixed(3)})` };
}

/** Original index of an element of a sample. */
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
