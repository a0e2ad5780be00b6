import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { scrollScale, virtualWindow } from '../../lib/virtual_scroll';
import {
  COUNT_COLUMNS,
  type ColumnId,
  cellNumber,
  cellText,
  columnsFor,
  FLOW,
  numberText,
  type TableColumn,
  trendOf,
} from '../../model/run/tensor_table';
import { sampleText } from '../../model/value/sample';
import type { Snapshot } from '../../model/wire/answers';
import { splitScope, workerName } from '../../model/wire/names';
import { LABELS } from '../../model/wire/statistics';
import { tableSort as sort, tableRows, tableSort } from '../../state/page/choices';
import { tableColumns } from '../../state/page/preferences';
import { runDetail, severalWorkers, workerId } from '../../state/runs';
import type { SnapshotPages } from '../../state/tensors/tensor_list';
import { useSize, useThrottled } from '../kit/hooks';
import { ScopePart } from '../kit/LongName';
import { Failure } from '../kit/Message';
import { Sparkline } from './Sparkline';
import { isSelected, ROW, useSelectedRow } from './selected_row';

/** Longer lists scroll proportionally: a wheel notch would skip rows, so it moves by rows instead. */
const WHEEL_ROWS = 3;

/** Rows on either side of the visible ones that are requested with them, for slow scrolling. */
const AHEAD = 40;

/** Columns that the list shows now. */
export const shownColumns = signal<readonly ColumnId[]>([]);

interface GridProps {
  list: SnapshotPages;
}

/** The visible rows; the rest is empty space. */
export function TensorGrid({ list }: GridProps) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const top = useSignal(0);
  list.arrived.value;
  const seen = virtualWindow(top.value, height - ROW, ROW, list.total, 8);
  const rows = Array.from({ length: seen.last - seen.first }, (_, i) => list.row(seen.first + i));
  const several = tableRows.value === 'all';
  const workers = severalWorkers.value && workerId.value === null;
  const visits = rows.some((row) => (row?.visit ?? 0) > 0);
  const columns = useMemo(
    () => columnsFor(width, tableColumns.value, { step: several, visit: visits, worker: workers }),
    [width, tableColumns.value, several, visits, workers],
  );
  useEffect(() => {
    shownColumns.value = columns.map(({ id }) => id);
  }, [columns]);
  const load = () => list.load(Math.max(0, seen.first - AHEAD), seen.last + AHEAD);
  useThrottled(load, [list, seen.first, seen.last, list.arrived.value]);
  useFineWheel(ref, height, list.total);
  const { go, onKey } = useSelectedRow(list, { ref, height });
  const firstInView = Math.ceil((top.value * scrollScale(height - ROW, ROW, list.total)) / ROW);
  useKeysFromPage((event) => {
    ref.current?.querySelector('table')?.focus();
    onKey(event, firstInView);
  });
  const selectedAt = rows.findIndex((row) => row !== null && isSelected(row));
  if (list.error.value) return <Failure error={list.error.value} retry={() => list.retry()} />;
  return (
    <div
      class="tensor-table num"
      ref={ref}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      onKeyDown={(event) => onKey(event, firstInView)}
      data-testid="tensor-table"
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows of a grid are selected by keys, those of a table are not
        role="grid"
        tabIndex={0}
        aria-label="Tensors"
        aria-rowcount={list.total + 1}
        aria-colcount={columns.length}
        aria-activedescendant={selectedAt < 0 ? undefined : rowId(seen.first + selectedAt)}
      >
        <colgroup>
          {columns.map(({ id, width: pixels }) => (
            <col key={id} style={id === 'tensor' ? { minWidth: `${pixels}px` } : { width: `${pixels}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.id} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: `${seen.offset}px` }} aria-hidden="true" />
          {rows.map((row, i) => (
            <Row key={seen.first + i} row={row} index={seen.first + i} columns={columns} go={go} />
          ))}
          <tr style={{ height: `${Math.max(0, seen.total - seen.offset - rows.length * ROW)}px` }} aria-hidden="true" />
        </tbody>
      </table>
    </div>
  );
}

function Head({ column: { id, label, text } }: { column: TableColumn }) {
  const active = sort.value.column === id;
  const onClick = () => {
    // Numbers sort descending first; the third click restores data flow order.
    const first = !text && id !== 'step';
    if (!active) sort.value = { column: id, descending: first };
    else sort.value = sort.value.descending === first ? { column: id, descending: !first } : FLOW;
  };
  if (id === 'trend') {
    return (
      <th scope="col">
        <span class="head-label">{label}</span>
      </th>
    );
  }
  return (
    <th scope="col" class={text ? '' : 'right'} aria-sort={active ? (sort.value.descending ? 'descending' : 'ascending') : 'none'}>
      <button type="button" onClick={onClick}>
        {label}
        <span class="sort-mark">{active ? (sort.value.descending ? '↓' : '↑') : ''}</span>
      </button>
    </th>
  );
}

const rowId = (index: number) => `tensor-row-${index}`;

interface RowProps {
  row: Snapshot | null;
  index: number;
  columns: readonly TableColumn[];
  go: (index: number) => void;
}

function Row({ row, index, columns, go }: RowProps) {
  if (row === null) {
    return (
      <tr aria-rowindex={index + 2} data-pending="true">
        <td colSpan={columns.length} />
      </tr>
    );
  }
  const health = row.nan > 0 ? 'nan' : row.pos_inf + row.neg_inf > 0 ? 'inf' : 'fine';
  return (
    <tr
      id={rowId(index)}
      aria-rowindex={index + 2}
      aria-selected={isSelected(row)}
      data-selected={isSelected(row)}
      data-health={health}
      onClick={() => go(index)}
      data-testid="tensor-row"
      data-tensor={row.tensor}
      data-step={row.step}
    >
      {columns.map((column) => (
        <Cell key={column.id} column={column} row={row} />
      ))}
    </tr>
  );
}

/** Up and down enter the rows if nothing has the focus, and from the field that filters them by name. */
function useKeysFromPage(enter: (event: KeyboardEvent) => void): void {
  const latest = useRef(enter);
  latest.current = enter;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const isFrom = event.target === document.body || (event.target as Element).matches('.table-search');
      if (isFrom && /^Arrow(Up|Down)$/.test(event.key)) latest.current(event);
    };
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}

/** If a pixel of scrolling is many rows, the wheel still moves three rows at a time. */
function useFineWheel(ref: { current: HTMLElement | null }, height: number, total: number): void {
  const scale = scrollScale(height - ROW, ROW, total);
  useEffect(() => {
    const element = ref.current;
    if (!element || scale === 1) return;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      // Browsers keep fractions of a pixel, so three rows are three rows.
      element.scrollTop += (Math.sign(event.deltaY) * Math.max(WHEEL_ROWS * ROW, Math.abs(event.deltaY))) / scale;
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [scale]);
}

function Cell({ column, row }: { column: TableColumn; row: Snapshot }) {
  const { id, text } = column;
  if (id === 'trend') return <td class="trend">{row.trend && <Sparkline trend={row.trend} name={LABELS[trendOf(tableSort.value)]} />}</td>;
  if (!text) return <NumberCell column={column} value={cellNumber(row, id)} />;
  const shown = id === 'worker' ? visible(workerName(row.worker, runDetail.value?.workers ?? [])) : cellText(row, id);
  return (
    <td class={`text-${id}`} title={shown}>
      {id === 'tensor' ? <TensorLabel row={row} /> : shown}
    </td>
  );
}

/** The scope is shortened first: the node's label distinguishes tensors. */
function TensorLabel({ row }: { row: Snapshot }) {
  const { scope, label } = splitScope(row.tensor);
  return (
    <button type="button" class="link-name">
      <span class="name-parts">
        <ScopePart scope={scope} />
        <span class="label-part">{label}</span>
      </span>
      <Kept row={row} />
    </button>
  );
}

/** Marks a stored value, or a stored sample. */
function Kept({ row }: { row: Snapshot }) {
  if (!row.kept) return null;
  const title = row.sample
    ? `Sample of ${formatCount(Math.min(row.sample.count, row.size))} elements stored, ${sampleText(row.sample)}`
    : '';
  return (
    <span class="kept-mark" data-sample={Boolean(row.sample)} title={title || 'Full value stored'}>
      {row.sample ? 'sample' : ''}
    </span>
  );
}

function NumberCell({ column, value }: { column: TableColumn; value: number }) {
  const { id } = column;
  const bad = (id === 'nan' || id === 'inf') && value > 0 ? id : '';
  const plain = id === 'step' || id === 'visit';
  const unknown = COUNT_COLUMNS.includes(id) && Number.isNaN(value);
  return (
    <td
      class={`right ${bad}`}
      title={unknown ? 'unknown: this import format has no such counts' : String(value)}
      data-zero={value === 0 && !plain}
    >
      {numberText(column, value)}
    </td>
  );
}
