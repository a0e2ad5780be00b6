import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { scrollScale, scrollTo, virtualWindow } from '../../lib/virtual';
import type { Snapshot } from '../../model/answers';
import { columnsFor, type TableColumn } from '../../model/tensor_table';
import { chosenTensor, chosenVisit, tableSort as sort, tableRows } from '../../state/choices';
import { tableColumns } from '../../state/preferences';
import { goTo } from '../../state/selection';
import type { SnapshotPages } from '../../state/snapshot_pages';
import { step } from '../../state/steps';
import { Failure } from '../kit/Message';
import { useSize } from '../kit/use_size';
import { Cell } from './Cell';

const ROW = 28;
/** Longer lists scroll proportionally: a wheel's notch would leap over rows, so that it moves rows instead. */
const WHEEL_ROWS = 3;

/** Rows that only fly by are not asked for. */
const SETTLE_MS = 40;

interface GridProps {
  list: SnapshotPages;
}

/** The rows in view; all others are space. */
export function TensorGrid({ list }: GridProps) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const top = useSignal(0);
  list.arrived.value;
  const seen = virtualWindow(top.value, height - ROW, ROW, list.total, 8);
  const rows = Array.from({ length: seen.last - seen.first }, (_, i) => list.row(seen.first + i));
  const several = tableRows.value === 'all';
  const columns = columnsFor(width, tableColumns.value, { step: several, visit: rows.some((row) => (row?.visit ?? 0) > 0) });
  useEffect(() => {
    const timer = setTimeout(() => list.load(seen.first, seen.last), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [list, seen.first, seen.last, list.arrived.value]);
  useFineWheel(ref, height, list.total);
  if (list.error.value) return <Failure error={list.error.value} retry={() => list.retry()} />;
  return (
    <div
      class="tensor-table num"
      ref={ref}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      onKeyDown={(event) => moveSelection(event, list, rows, seen.first, ref.current, height)}
      data-testid="tensor-table"
    >
      <table aria-rowcount={list.total + 1} aria-colcount={columns.length}>
        <colgroup>
          {columns.map(({ id, width: pixels }) => (
            <col key={id} style={id === 'tensor' ? { minWidth: `${pixels}px` } : { width: `${pixels}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: `${seen.offset}px` }} aria-hidden="true" />
          {rows.map((row, i) => (
            <Row key={seen.first + i} row={row} index={seen.first + i} columns={columns} />
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
    // Numbers are looked for at their largest first.
    sort.value = active ? { column: id, descending: !sort.value.descending } : { column: id, descending: !text && id !== 'step' };
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

function Row({ row, index, columns }: { row: Snapshot | null; index: number; columns: readonly TableColumn[] }) {
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
      aria-rowindex={index + 2}
      data-selected={isSelected(row)}
      data-health={health}
      onClick={() => select(row)}
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

function isSelected(row: Snapshot): boolean {
  return row.tensor === chosenTensor.value && row.step === step.value && (chosenVisit.value ?? row.visit) === row.visit;
}

function select(row: Snapshot): void {
  goTo({ tensor: row.tensor, step: row.step });
  if (row.visit > 0) chosenVisit.value = row.visit;
}

/** Arrow keys move the selection while the table has the focus. */
function moveSelection(
  event: KeyboardEvent,
  list: SnapshotPages,
  rows: readonly (Snapshot | null)[],
  first: number,
  element: HTMLElement | null,
  height: number,
): void {
  const offset = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (offset === 0 || element === null) return;
  event.preventDefault();
  const at = rows.findIndex((row) => row !== null && isSelected(row));
  const index = at < 0 ? first : Math.max(0, Math.min(list.total - 1, first + at + offset));
  const next = list.row(index);
  if (next === null) return;
  select(next);
  const place = index * ROW;
  const shown = element.scrollTop * scrollScale(height - ROW, ROW, list.total);
  if (place < shown || place > shown + height - 3 * ROW) element.scrollTop = scrollTo(index, height - ROW, ROW, list.total);
}

/** Where a pixel of scrolling is many rows, the wheel moves three rows at a time all the same. */
function useFineWheel(ref: { current: HTMLElement | null }, height: number, total: number): void {
  const scale = scrollScale(height - ROW, ROW, total);
  useEffect(() => {
    const element = ref.current;
    if (!element || scale === 1) return;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      // Fractions of a pixel are kept by browsers, so that three rows are three rows.
      element.scrollTop += (Math.sign(event.deltaY) * Math.max(WHEEL_ROWS * ROW, Math.abs(event.deltaY))) / scale;
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [scale]);
}
