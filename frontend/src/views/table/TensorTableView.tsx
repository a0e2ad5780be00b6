import { computed } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../lib/format';
import { virtualWindow } from '../../lib/virtual';
import { splitScope } from '../../model/tensor_name';
import { type ColumnId, NO_FILTER, TABLE_COLUMNS, TensorTable } from '../../model/tensor_table';
import { chosenTensor, tableFilter as filter, tableSort as sort } from '../../state/choices';
import { graph, overlay } from '../../state/graph';
import { selectTensor } from '../../state/selection';
import { Failure, Message } from '../kit/Message';
import { useSize } from '../kit/use_size';
import { TableToolbar } from './TableToolbar';

const ROW = 28;

const table = computed(() => (graph.data.value && overlay.data.value ? new TensorTable(graph.data.value, overlay.data.value) : null));
const rows = computed(() => table.value?.rows(filter.value, sort.value) ?? new Int32Array());

/** Every tensor that the step on show has, one row each. */
export function TensorTableView() {
  const current = table.value;
  if (current === null) {
    const error = overlay.error.value ?? graph.error.value;
    return error ? <Failure error={error} retry={overlay.reload} /> : <div class="pane-body" />;
  }
  return (
    <div class="pane-body table-view">
      <TableToolbar
        table={current}
        rows={rows.value}
        filter={filter.value}
        onFilter={(next) => {
          filter.value = next;
        }}
      />
      {rows.value.length === 0 ? <Nothing empty={current.step.count === 0} /> : <Grid current={current} />}
    </div>
  );
}

function Nothing({ empty }: { empty: boolean }) {
  if (empty) {
    return (
      <Message title="No tensor of this graph was captured at this step">
        <p>Move along the steps with ← and →.</p>
      </Message>
    );
  }
  return (
    <Message title="No tensor passes the filter">
      <button
        type="button"
        class="button"
        onClick={() => {
          filter.value = NO_FILTER;
        }}
      >
        Clear the filter
      </button>
    </Message>
  );
}

function Grid({ current }: { current: TensorTable }) {
  const { ref, height } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const seen = virtualWindow(top, height - ROW, ROW, rows.value.length, 8);
  useSelectedInView(ref, height);
  return (
    <div
      class="tensor-table num"
      ref={ref}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={moveSelection}
      data-testid="tensor-table"
    >
      <table aria-rowcount={rows.value.length}>
        <thead>
          <tr>
            {TABLE_COLUMNS.map((column) => (
              <Head key={column.id} id={column.id} label={column.label} text={column.text} />
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: `${seen.offset}px` }} aria-hidden="true" />
          {[...rows.value.subarray(seen.first, seen.last)].map((row) => (
            <Row key={row} row={row} current={current} />
          ))}
          <tr style={{ height: `${Math.max(0, seen.total - seen.offset - (seen.last - seen.first) * ROW)}px` }} aria-hidden="true" />
        </tbody>
      </table>
    </div>
  );
}

function Head({ id, label, text }: { id: ColumnId; label: string; text: boolean }) {
  const active = sort.value.column === id;
  const direction = sort.value.descending ? 'descending' : 'ascending';
  const onClick = () => {
    // Numbers are looked for at their largest first.
    sort.value = active ? { column: id, descending: !sort.value.descending } : { column: id, descending: !text };
  };
  return (
    <th scope="col" class={text ? '' : 'right'} aria-sort={active ? direction : 'none'}>
      <button type="button" onClick={onClick}>
        {label}
        <span class="sort-mark">{active ? (sort.value.descending ? '↓' : '↑') : ''}</span>
      </button>
    </th>
  );
}

function Row({ row, current }: { row: number; current: TensorTable }) {
  const tensor = current.text(row, 'tensor');
  return (
    <tr
      data-selected={tensor === chosenTensor.value}
      data-health={current.health(row)}
      onClick={() => selectTensor(tensor)}
      data-testid="tensor-row"
      data-tensor={tensor}
    >
      {TABLE_COLUMNS.map(({ id, text }) =>
        text ? (
          <td key={id} class={`text-${id}`} title={current.text(row, id)}>
            {id === 'tensor' ? <TensorLabel tensor={tensor} /> : current.text(row, id)}
          </td>
        ) : (
          <NumberCell key={id} id={id} value={current.number(row, id)} />
        ),
      )}
    </tr>
  );
}

/** The scope gives way first where there is no room: the node's own label is what tells tensors apart. */
function TensorLabel({ tensor }: { tensor: string }) {
  const { scope, label } = splitScope(tensor);
  return (
    <button type="button" class="link-name">
      <span class="faint scope-part">{scope}</span>
      <span>{label}</span>
    </button>
  );
}

const COUNT_COLUMNS: readonly ColumnId[] = ['size', 'nan', 'inf', 'zero'];

function NumberCell({ id, value }: { id: ColumnId; value: number }) {
  const bad = (id === 'nan' || id === 'inf') && value > 0 ? id : '';
  const text = COUNT_COLUMNS.includes(id) ? formatCount(value) : Number.isNaN(value) ? '–' : formatNumber(value);
  return (
    <td class={`right ${bad}`} title={String(value)} data-zero={value === 0}>
      {text}
    </td>
  );
}

/** Arrow keys move the selection while the table has the focus. */
function moveSelection(event: KeyboardEvent): void {
  const offset = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const current = table.peek();
  if (offset === 0 || !current) return;
  event.preventDefault();
  const at = rows.peek().findIndex((row) => current.text(row, 'tensor') === chosenTensor.peek());
  const next = rows.peek()[Math.max(0, Math.min(rows.peek().length - 1, at + offset))];
  if (next !== undefined) selectTensor(current.text(next, 'tensor'));
}

/** Scrolls the selected row into view when it was selected elsewhere. */
function useSelectedInView(ref: { current: HTMLDivElement | null }, height: number): void {
  const tensor = chosenTensor.value;
  const last = useRef<string | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (!element || height === 0 || last.current === tensor) return;
    last.current = tensor;
    const at = rows.peek().findIndex((row) => table.peek()?.text(row, 'tensor') === tensor);
    const [low, high] = [element.scrollTop, element.scrollTop + height - 3 * ROW];
    if (at >= 0 && (at * ROW < low || at * ROW > high)) element.scrollTop = at * ROW - height / 2;
  }, [tensor, height]);
}
