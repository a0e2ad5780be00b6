import { batch } from '@preact/signals';
import { useState } from 'preact/hooks';
import { counted, formatCount, formatNumber } from '../../lib/text/format';
import { virtualWindow } from '../../lib/virtual_scroll';
import {
  type CompareSort,
  isBound,
  METRIC_COLUMNS,
  type MetricId,
  metricOf,
  type TensorDifference,
  unreported,
} from '../../model/wire/comparison';
import { splitScope } from '../../model/wire/names';
import { comparison, differences } from '../../state/compare/comparison';
import { chosenGraph, chosenStep, chosenTensor, chosenVisit, compareAt, compareSort } from '../../state/page/choices';
import { useSize } from '../kit/hooks';
import { ScopePart } from '../kit/LongName';

const ROW = 28;
/** Columns of numbers are as wide as their titles, in px. */
const [NARROWEST, LETTER, MARGINS] = [92, 7, 30];
/** The largest distances are next to the verdict, visible on narrow screens, too. */
const [FOREMOST, OTHERS] = [METRIC_COLUMNS.slice(0, 2), METRIC_COLUMNS.slice(2)];
const NAMES = [
  { sort: 'tensor', label: 'Tensor' },
  { sort: 'verdict', label: 'Verdict' },
] as const;
const FACTS: readonly { sort: CompareSort | null; label: string }[] = [
  { sort: 'order', label: 'Flow' },
  { sort: null, label: 'Op' },
  { sort: null, label: 'Dtypes' },
];

/** Every tensor that both sides captured, one row each. */
export function CompareTable() {
  const { ref, height } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const rows = differences.value;
  const seen = virtualWindow(top, height - ROW, ROW, rows.length, 8);
  const total = comparison.data.value?.total ?? 0;
  const compared = Object.values(comparison.data.value?.comparison?.counts ?? {}).reduce((sum, count) => sum + count, 0);
  const listed = comparison.data.value?.rows.length ?? 0;
  return (
    <>
      <div class="tensor-table num" ref={ref} onScroll={(event) => setTop(event.currentTarget.scrollTop)} data-testid="compare-table">
        <table aria-rowcount={rows.length}>
          <thead>
            <tr>
              {NAMES.map(({ sort, label }) => (
                <Head key={label} sort={sort} label={label} title="" text />
              ))}
              {FOREMOST.map((column) => (
                <Head key={column.id} sort={column.id} label={column.label} title={column.title} />
              ))}
              {FACTS.map(({ sort, label }) => (
                <Head
                  key={label}
                  sort={sort}
                  label={label}
                  title={sort === 'order' ? 'Position in the data flow' : ''}
                  text={sort !== 'order'}
                />
              ))}
              {OTHERS.map((column) => (
                <Head key={column.id} sort={column.id} label={column.label} title={column.title} />
              ))}
            </tr>
          </thead>
          <tbody>
            <tr style={{ height: `${seen.offset}px` }} aria-hidden="true" />
            {rows.slice(seen.first, seen.last).map((row) => (
              <Row key={`${row.graph} ${row.tensor}`} row={row} />
            ))}
            <tr style={{ height: `${Math.max(0, seen.total - seen.offset - (seen.last - seen.first) * ROW)}px` }} aria-hidden="true" />
          </tbody>
        </table>
        {rows.length === 0 && compared > 0 && <p class="message">All compared tensors match.</p>}
      </div>
      {listed < total && (
        <p class="chart-note faint">
          The first {formatCount(listed)} of {formatCount(total)} tensors; "tensortap diff" lists all.
        </p>
      )}
    </>
  );
}

function Head({ sort, label, title, text }: { sort: CompareSort | null; label: string; title: string; text?: boolean }) {
  const active = sort !== null && compareSort.value === sort;
  const onClick = () => {
    if (sort !== null) compareSort.value = sort;
  };
  return (
    <th
      scope="col"
      class={text ? '' : 'right'}
      style={text ? undefined : { width: `${Math.max(NARROWEST, LETTER * label.length + MARGINS)}px` }}
      aria-sort={active ? 'other' : 'none'}
      title={title}
    >
      <button type="button" onClick={onClick} disabled={sort === null}>
        {label}
        <span class="sort-mark">{active ? '↓' : ''}</span>
      </button>
    </th>
  );
}

function Row({ row }: { row: TensorDifference }) {
  const { scope, label } = splitScope(row.tensor);
  const first = comparison.data.value?.comparison?.first?.difference;
  const isFirst = first?.tensor === row.tensor && first.graph === row.graph;
  const dtypes = row.dtype_a === row.dtype_b ? row.dtype_a : `${row.dtype_a}, ${row.dtype_b}`;
  const title = row.other === row.tensor ? row.tensor : `${row.tensor}\nin B ${row.other} (matched by ${row.matched})`;
  const verdict = [row.verdict, ...(isFirst ? ['first'] : []), ...(row.basis === 'shapes' ? ['other shape'] : [])].join(', ');
  return (
    <tr
      data-selected={row.tensor === chosenTensor.value}
      data-verdict={row.verdict}
      data-first={isFirst}
      data-testid="compare-row"
      data-tensor={row.tensor}
      onClick={() => showDifference(row)}
    >
      <td class="text-tensor" title={title}>
        <button type="button" class="link-name">
          <ScopePart scope={scope} />
          <span class="label-part">{label}</span>
        </button>
      </td>
      <td title={verdict}>{verdict}</td>
      {FOREMOST.map(({ id }) => (
        <Metric key={id} row={row} id={id} />
      ))}
      <td class="right">{row.order}</td>
      <td class="text-op_type">{row.op_type}</td>
      <td class="text-dtype">{dtypes}</td>
      {OTHERS.map(({ id }) => (
        <Metric key={id} row={row} id={id} />
      ))}
    </tr>
  );
}

/** Metrics that are lower bounds with summaries or samples. */
const BOUNDED: readonly string[] = ['max_abs', 'relative', 'rmse', 'l2'];

function Metric({ row, id }: { row: TensorDifference; id: MetricId }) {
  const value = metricOf(row, id);
  const { count, instead } = unreported(row, id);
  const replaced = count > 0 && instead;
  const bound = isBound(row) && BOUNDED.includes(id) && (replaced || !Number.isNaN(value)) ? '≥' : '';
  const number = Number.isNaN(value) ? '–' : bound + metricText(value);
  const where = `where A and B are finite: ${value}`;
  return (
    <td
      class={replaced ? 'right nan' : 'right'}
      title={count > 0 ? `NaN/Inf differs in ${counted(count, 'element')}; ${where}` : String(value)}
      data-zero={value === 0 && count === 0}
    >
      {replaced ? `${bound}${formatCount(count)} NaN/Inf` : number}
    </td>
  );
}

/** Selects a compared tensor with its graph and iteration; also its step, unless the step selects the comparison. */
export function showDifference(row: TensorDifference): void {
  batch(() => {
    const result = comparison.data.value?.comparison;
    if (result && compareAt.value === 'first') chosenStep.value = result.a.step;
    chosenGraph.value = row.graph;
    chosenTensor.value = row.tensor;
    chosenVisit.value = row.visits > 1 ? row.visit : null;
  });
}

/** A metric as text, empty where it is unknown. */
export function metricText(value: number): string {
  return Number.isNaN(value) ? '' : formatNumber(value, 3);
}
