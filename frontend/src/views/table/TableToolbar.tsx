import { useState } from 'preact/hooks';
import { csvText, downloadText, fileName } from '../../lib/download';
import { formatCount, counted as formatCounted } from '../../lib/text/format';
import {
  cellNumber,
  cellText,
  FLOW,
  parseSort,
  patternError,
  sortText,
  TABLE_COLUMNS,
  type TableFilter,
} from '../../model/run/tensor_table';
import { CONDITION_FIELDS, completions, TEXT_FIELDS, toggleTerm, withTerm } from '../../model/search/condition';
import type { Snapshot } from '../../model/wire/answers';
import { graph } from '../../state/graph/graph';
import { tableFilter as filter, tableDisplay, tableRows, tableSort } from '../../state/page/choices';
import { tableColumns } from '../../state/page/preferences';
import { noteRapidInput } from '../../state/resource';
import { runEntry } from '../../state/runs';
import { shownRange, step } from '../../state/steps';
import { shownStory } from '../../state/story';
import { type SnapshotPages, tensorList } from '../../state/tensors/tensor_list';
import { IconButton, Segmented, Select } from '../kit/Button';
import { Popover } from '../kit/Popover';
import { shownColumns } from './TensorGrid';

const ROWS = [
  { value: 'step', label: 'This step' },
  { value: 'all', label: 'All steps' },
] as const;

const DISPLAYS = [
  { value: 'table', label: 'Table' },
  { value: 'histograms', label: 'Histograms' },
] as const;

const CONDITION_HELP = `E.g. NaN, zeros > 90%, size > 10k, or abs_max > 1e3 and op == 'Relu'. Numeric fields: ${CONDITION_FIELDS.join(', ')}. Text fields: ${TEXT_FIELDS.join(', ')}.`;

/** Quick filters: conditions that are added to the typed one by `and`. */
const CHIPS = [
  { label: '> 90 % zeros', term: 'zeros > 90%', title: 'Tensors with more than 90 % zeros' },
  { label: 'Gradients', term: "tensor ~ '(^|/)gradient(_tape|s)(_[0-9]+)?/'", title: 'Tensors of the backward pass' },
  { label: 'Weights', term: "op ~ '^(ReadVariableOp|Variable(V2)?)$'", title: 'Variables as read by the step' },
  {
    label: 'Activations',
    term: "op ~ '^(Relu6?|LeakyRelu|Elu|Selu|Gelu|Erf|Sigmoid|Tanh|Soft(max|plus|sign)|LogSoftmax)$'",
    title: 'Outputs of activation functions',
  },
] as const;

interface ToolbarProps {
  list: SnapshotPages | null;
  /** Number of skipped snapshots for which the condition cannot be decided. */
  undecided: number;
  /** Why the server refused the filter. */
  refused: string | null;
}

export function TableToolbar({ list, undecided, refused }: ToolbarProps) {
  const unread = patternError(filter.value.match);
  return (
    <div class="table-toolbar">
      <Segmented
        label="Rows"
        options={ROWS}
        value={tableRows.value}
        onChange={(rows) => {
          tableRows.value = rows;
        }}
      />
      <Segmented
        label="Show as"
        options={DISPLAYS}
        value={tableDisplay.value}
        onChange={(display) => {
          tableDisplay.value = display;
        }}
      />
      <TextFilters wrong={refused} />
      <NodeFilters />
      <Chips />
      <span class="grow" />
      <span class="row">
        <span class="faint num" data-testid="table-total">
          {list && counted(list.total)}
        </span>
        {tableDisplay.value === 'histograms' ? <SortMenu /> : <ColumnsMenu />}
        {list && <Download list={list} />}
      </span>
      {refused !== null && (
        <span class="table-error" role="status">
          {refused}
        </span>
      )}
      {unread !== null && (
        <span class="table-error" role="status" data-testid="table-unread">
          {unread}
        </span>
      )}
      {refused === null && undecided > 0 && (
        <span class="table-note faint" role="status" data-testid="table-undecided">
          {formatCounted(undecided, 'snapshot')} skipped: the import lacks a count that the condition needs
        </span>
      )}
    </div>
  );
}

function change(part: Partial<TableFilter>): void {
  filter.value = { ...filter.value, ...part };
}

/** Fast typing is throttled, not searched letter by letter. */
function type(part: Partial<TableFilter>): void {
  noteRapidInput();
  change(part);
}

/** A pattern for the name and a condition on the numbers; `wrong`: why the latter cannot be read. */
function TextFilters({ wrong }: { wrong: string | null }) {
  const { match } = filter.value;
  return (
    <>
      <input
        class="field small table-search"
        type="search"
        placeholder="Name (regex)   /"
        aria-label="Filter tensors by name"
        aria-invalid={patternError(match) !== null}
        value={match}
        onInput={(event) => type({ match: event.currentTarget.value })}
        data-testid="table-filter"
      />
      {!shownStory.value && <Conditions wrong={wrong} />}
    </>
  );
}

/** A story cannot answer them. */
function Conditions({ wrong }: { wrong: string | null }) {
  const { where } = filter.value;
  return (
    <>
      <input
        class="field small table-where mono"
        placeholder="zeros > 90%"
        list="table-where-completions"
        aria-label="Filter by statistics"
        aria-invalid={wrong !== null && where !== ''}
        title={wrong ?? CONDITION_HELP}
        value={where}
        onInput={(event) => type({ where: event.currentTarget.value })}
        data-testid="table-where"
      />
      <datalist id="table-where-completions">
        {completions(where).map((text) => (
          <option key={text} value={text} />
        ))}
      </datalist>
    </>
  );
}

/** Which nodes. */
function NodeFilters() {
  const { opType, layer } = filter.value;
  return (
    <>
      <Select label="Op" hideLabel value={opType} onChange={(value) => change({ opType: value })}>
        <option value="">All ops</option>
        {used(graph.data.value?.opTypes.values)}
      </Select>
      <Select label="Layer" hideLabel value={layer} onChange={(value) => change({ layer: value })}>
        <option value="">All layers</option>
        {used(graph.data.value?.layers.values)}
      </Select>
    </>
  );
}

/** Quick filters, and a quick order. */
function Chips() {
  const { nonfinite, where } = filter.value;
  const largest = tableSort.value.column === 'abs_max' && tableSort.value.descending;
  return (
    <fieldset class="chips" aria-label="Quick filters">
      <ChipButton
        label="NaN/Inf"
        title="Tensors with a NaN or an infinity"
        on={nonfinite}
        onClick={() => change({ nonfinite: !nonfinite })}
        testid="nonfinite-only"
      />
      {!shownStory.value &&
        CHIPS.map(({ label, term, title }) => (
          <ChipButton
            key={label}
            label={label}
            title={title}
            on={withTerm(where, term)}
            onClick={() => change({ where: toggleTerm(where, term) })}
          />
        ))}
      <ChipButton
        label="Largest first"
        title="Sort by max |x|"
        on={largest}
        onClick={() => {
          tableSort.value = largest ? FLOW : { column: 'abs_max', descending: true };
        }}
      />
    </fieldset>
  );
}

interface ChipProps {
  label: string;
  title: string;
  on: boolean;
  onClick: () => void;
  testid?: string;
}

function ChipButton({ label, title, on, onClick, testid }: ChipProps) {
  return (
    <button type="button" class="chip chip-button" aria-pressed={on} title={title} onClick={onClick} data-testid={testid}>
      {label}
    </button>
  );
}

function counted(total: number): string {
  const what = tableRows.value === 'all' ? 'snapshot' : 'tensor';
  const range = tableRows.value === 'all' && shownRange.value ? ` in steps ${shownRange.value.first}–${shownRange.value.last}` : '';
  return `${formatCount(total)} ${what}${total === 1 ? '' : 's'}${range}`;
}

function used(values: readonly string[] = []) {
  return [...values]
    .filter((value) => value !== '')
    .sort()
    .map((value) => (
      <option key={value} value={value}>
        {value}
      </option>
    ));
}

/** Larger files are better created by `tensortap export`. */
const MOST_ROWS = 50_000;

function Download({ list }: { list: SnapshotPages }) {
  const [done, setDone] = useState<number | null>(null);
  const total = Math.min(MOST_ROWS, list.total);
  const cut = list.total > MOST_ROWS ? `the first ${formatCount(MOST_ROWS)} of ` : '';
  const save = async () => {
    setDone(0);
    try {
      saveRows(await list.all(MOST_ROWS, setDone));
    } catch {
      // The list itself reports server errors.
      tensorList.reload();
    } finally {
      setDone(null);
    }
  };
  if (done !== null) return <span class="faint num">{Math.round((100 * done) / Math.max(1, total))} %</span>;
  return <IconButton small icon="download" label={`Download ${cut}these rows as CSV`} onClick={() => void save()} testid="table-csv" />;
}

function saveRows(rows: readonly Snapshot[]): void {
  const columns = TABLE_COLUMNS.filter(({ id }) => id !== 'trend');
  const lines = rows.map((row) => columns.map(({ id, text }) => (text ? cellText(row, id) : cellNumber(row, id))));
  const header = columns.map(({ id }) => id);
  const part = tableRows.peek() === 'all' ? 'snapshots' : `step-${step.peek()}`;
  downloadText(`${fileName(runEntry.peek()?.name ?? 'run', part)}.csv`, csvText(header, lines), 'text/csv');
}

/** The wall has no column headers for sorting. */
function SortMenu() {
  return (
    <Select
      label="Sort by"
      value={sortText(tableSort.value)}
      onChange={(text) => {
        tableSort.value = parseSort(text);
      }}
      testid="wall-sort"
    >
      {SORTS.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </Select>
  );
}

/** Texts ascending, numbers with the largest first. */
const SORTS = [{ value: 'flow', label: 'Data flow' }].concat(
  TABLE_COLUMNS.filter(({ id }) => id !== 'trend' && id !== 'step' && id !== 'visit').map(({ id, label, text }) => ({
    value: sortText({ column: id, descending: !text }),
    label,
  })),
);

const OPTIONAL = TABLE_COLUMNS.filter(({ rank }) => rank > 0);

/** Menu of columns: as many as fit, or the chosen ones, which this browser stores. */
function ColumnsMenu() {
  return (
    <Popover
      label="Columns"
      end
      trigger={(open, toggle) => <IconButton small icon="columns" label="Columns" onClick={toggle} pressed={open} testid="table-columns" />}
    >
      {() => (
        <div class="menu columns-menu">
          <label class="menu-row">
            <input type="checkbox" checked={tableColumns.value === null} onChange={toggleFit} />
            Auto (fit width)
          </label>
          {OPTIONAL.map(({ id, label }) => (
            <label class="menu-row" key={id}>
              <input
                type="checkbox"
                checked={(tableColumns.value ?? shownColumns.value).includes(id)}
                onChange={(event) => {
                  const others = (tableColumns.value ?? shownColumns.value).filter((other) => other !== id);
                  tableColumns.value = event.currentTarget.checked ? [...others, id] : others;
                }}
              />
              {label}
            </label>
          ))}
        </div>
      )}
    </Popover>
  );
}

function toggleFit(): void {
  tableColumns.value = tableColumns.value === null ? [...shownColumns.value] : null;
}
