import { formatCount } from '../../lib/format';
import { COUNT_COLUMNS, cellNumber, cellText, numberText, type TableColumn, trendOf } from '../../model/run/tensor_table';
import { sampleText } from '../../model/value/sample';
import type { Snapshot } from '../../model/wire/answers';
import { splitScope } from '../../model/wire/names';
import { LABELS } from '../../model/wire/statistics';
import { tableSort } from '../../state/choices';
import { Sparkline } from './Sparkline';

export function Cell({ column, row }: { column: TableColumn; row: Snapshot }) {
  const { id, text } = column;
  if (id === 'trend') return <td class="trend">{row.trend && <Sparkline trend={row.trend} name={LABELS[trendOf(tableSort.value)]} />}</td>;
  if (!text) return <NumberCell column={column} value={cellNumber(row, id)} />;
  const shown = cellText(row, id);
  return (
    <td class={`text-${id}`} title={shown}>
      {id === 'tensor' ? <TensorLabel row={row} /> : shown}
    </td>
  );
}

/** The scope gives way first where there is no room: the node's own label is what tells tensors apart. */
function TensorLabel({ row }: { row: Snapshot }) {
  const { scope, label } = splitScope(row.tensor);
  return (
    <button type="button" class="link-name">
      <span class="name-parts">
        <span class="faint scope-part">{scope}</span>
        <span class="label-part">{label}</span>
      </span>
      <Kept row={row} />
    </button>
  );
}

/** Whether there is a value behind the numbers, or a sample of one. */
function Kept({ row }: { row: Snapshot }) {
  if (!row.kept) return null;
  const title = row.sample
    ? `A sample of ${formatCount(Math.min(row.sample.count, row.size))} elements was kept, ${sampleText(row.sample)}`
    : '';
  return (
    <span class="kept-mark" data-sample={Boolean(row.sample)} title={title || 'Its value was kept'}>
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
      title={unknown ? 'unknown: the run was imported from a format that does not tell' : String(value)}
      data-zero={value === 0 && !plain}
    >
      {numberText(column, value)}
    </td>
  );
}
