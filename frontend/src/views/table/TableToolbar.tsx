import { csvText } from '../../lib/csv';
import { downloadText, fileName } from '../../lib/download';
import { formatCount } from '../../lib/format';
import { FIELDS, parseCondition } from '../../model/condition';
import { parsePattern, TABLE_COLUMNS, type TableFilter, type TensorTable } from '../../model/tensor_table';
import { runEntry } from '../../state/runs';
import { IconButton, Select, Switch } from '../kit/Button';

interface ToolbarProps {
  table: TensorTable;
  rows: Int32Array;
  filter: TableFilter;
  onFilter: (filter: TableFilter) => void;
}

const CONDITION_HELP = `Such as: nan > 0, or zero / size > 0.9 and abs_max < 1e-3. Fields: ${FIELDS.join(', ')}`;

export function TableToolbar({ table, rows, filter, onFilter }: ToolbarProps) {
  const change = (part: Partial<TableFilter>) => onFilter({ ...filter, ...part });
  const condition = parseCondition(filter.where);
  const valid = parsePattern(filter.match) !== null;
  return (
    <div class="table-toolbar">
      <input
        class="field small table-search"
        type="search"
        placeholder="Filter by name (regular expression)   /"
        aria-label="Filter tensors by name"
        aria-invalid={!valid}
        title={valid ? '' : 'Not a regular expression; matched as plain text'}
        value={filter.match}
        onInput={(event) => change({ match: event.currentTarget.value })}
        data-testid="table-filter"
      />
      <input
        class="field small table-where mono"
        placeholder="nan > 0"
        aria-label="Condition on the numbers"
        aria-invalid={condition.error !== null}
        title={condition.error ?? CONDITION_HELP}
        value={filter.where}
        onInput={(event) => change({ where: event.currentTarget.value })}
        data-testid="table-where"
      />
      <Select label="Op" hideLabel value={filter.opType} onChange={(opType) => change({ opType })}>
        <option value="">All ops</option>
        {used(table.graph.opTypes.values)}
      </Select>
      <Select label="Layer" hideLabel value={filter.layer} onChange={(layer) => change({ layer })}>
        <option value="">All layers</option>
        {used(table.graph.layers.values)}
      </Select>
      <Switch
        label="NaN/Inf only"
        on={filter.nonfinite}
        onChange={() => change({ nonfinite: !filter.nonfinite })}
        testid="nonfinite-only"
      />
      <span class="grow" />
      <span class="faint num">
        {formatCount(rows.length)} of {formatCount(table.step.count)} tensors
      </span>
      {condition.error !== null && (
        <span class="table-error" role="status">
          {condition.error}
        </span>
      )}
      <IconButton small icon="download" label="Download these rows as CSV" onClick={() => saveRows(table, rows)} testid="table-csv" />
    </div>
  );
}

function used(values: readonly string[]) {
  return [...values]
    .filter((value) => value !== '')
    .sort()
    .map((value) => (
      <option key={value} value={value}>
        {value}
      </option>
    ));
}

function saveRows(table: TensorTable, rows: Int32Array): void {
  const lines = [...rows].map((row) => TABLE_COLUMNS.map(({ id, text }) => (text ? table.text(row, id) : table.number(row, id))));
  const header = TABLE_COLUMNS.map(({ id }) => id);
  downloadText(`${fileName(runEntry.peek()?.name ?? 'run', 'step', table.step.step)}.csv`, csvText(header, lines), 'text/csv');
}
