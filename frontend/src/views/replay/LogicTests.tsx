import { useEffect, useRef } from 'preact/hooks';
import { counted, formatCount, formatNumber } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { splitScope } from '../../model/wire/names';
import { columnTitle, isTensorColumn, type LogicResult, nameColumns, shortLine } from '../../model/wire/replay';
import { hasPassed, shownOutcome, testLogic } from '../../state/replay/logic_tests';
import { computing, recordings } from '../../state/replay/replay';
import { selectTensor } from '../../state/selection';

/** Maximum number of rows. */
const MOST_ROWS = 50;
/** Maximum columns side by side; with more, each name has a line. */
const MOST_BESIDE = 3;

/** Tests of the recorded step's logic, one button each, and the last result. */
export function LogicTests() {
  const outcome = shownOutcome.value;
  const tests = recordings.data.value?.tests ?? [];
  const found = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (outcome !== null) found.current?.scrollIntoView({ block: 'nearest' });
  }, [outcome]);
  return (
    <section class="logic-tests" aria-label="Invariant checks">
      <h2>Invariant checks</h2>
      <div class="logic-buttons">
        {tests.map(({ name: test, question }) => (
          <button
            key={test}
            type="button"
            class="button small"
            disabled={computing.value !== null}
            aria-pressed={outcome?.test === test}
            onClick={() => void testLogic(test)}
            title={`${question} Runs on the recorded step, without the what-if. Command: tensortap replay RUN --test ${test}`}
            data-passed={hasPassed(test) ?? undefined}
            data-testid={`test-${test}`}
          >
            {test}
          </button>
        ))}
      </div>
      <div role="status" ref={found} data-testid="logic-outcome">
        {outcome?.error && (
          <p class="override-error">
            {outcome.test}: {outcome.error.message} {outcome.error.hint}
          </p>
        )}
        {outcome?.result && (
          <>
            <p>
              <span class="logic-verdict" data-passed={outcome.result.passed}>
                {outcome.result.passed ? 'passed' : 'failed'}
              </span>{' '}
              <span class="faint">{tests.find(({ name }) => name === outcome.test)?.question}</span>
            </p>
            <p>{visible(outcome.result.summary)}</p>
            <Rows result={outcome.result} />
          </>
        )}
      </div>
    </section>
  );
}

function Rows({ result }: { result: LogicResult }) {
  if (result.rows.length === 0) return null;
  const count = result.columns.length;
  const stacked = count > MOST_BESIDE;
  const names = stacked ? nameColumns(result.columns) : 0;
  const lines = [...Array(names).keys()].map((at) => [at, at + 1] as const).concat([[names, count]]);
  const width = count - names;
  const more = result.rows_total - Math.min(result.rows.length, MOST_ROWS);
  return (
    <>
      <div class="what-if-scroll">
        <table class="logic-table num" data-stacked={stacked || undefined}>
          {stacked && (
            <colgroup>
              {result.columns.slice(names).map((column) => (
                <col key={column} data-column={column} />
              ))}
            </colgroup>
          )}
          <thead>
            {lines.map(([from, to]) => (
              <tr key={from}>
                {result.columns.slice(from, to).map((column) => (
                  <th key={column} scope="col" colSpan={to <= names ? width : 1} data-column={column}>
                    {columnTitle(column)}
                  </th>
                ))}
              </tr>
            ))}
          </thead>
          {result.rows.slice(0, MOST_ROWS).map((row, place) => (
            // A test may name a tensor twice.
            <tbody key={place}>
              {lines.map(([from, to]) => (
                <tr key={from}>
                  {row.slice(from, to).map((cell, at) => (
                    <Cell key={at} column={result.columns[from + at] ?? ''} cell={cell} span={to <= names ? width : 1} />
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </div>
      {more > 0 && <p class="faint">{counted(more, 'more row')}; `tensortap replay RUN --test` lists all.</p>}
    </>
  );
}

function Cell({ column, cell, span }: { column: string; cell: string | number | null; span: number }) {
  if (typeof cell === 'number') return <td colSpan={span}>{Number.isInteger(cell) ? formatCount(cell) : formatNumber(cell)}</td>;
  const text = cell === null ? '' : visible(String(cell));
  // A source line also has slashes; only names have scopes.
  const { scope, label } = column === 'line' ? { scope: '', label: shortLine(text) } : splitScope(text);
  const name = (
    <>
      <span class="faint truncate">{scope}</span>
      <span class="truncate">{label}</span>
    </>
  );
  return (
    <td data-column={column} title={text} colSpan={span}>
      {isTensorColumn(column) && cell !== null ? (
        <button type="button" class="link-name stepper-label" onClick={() => selectTensor(String(cell))}>
          {name}
        </button>
      ) : (
        <span class="stepper-label">{name}</span>
      )}
    </td>
  );
}
