import { signal } from '@preact/signals';
import { counted, formatCount, shortFile } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { type Comparison, earlierThan, sameSide, type Unmatched as UnmatchedNode } from '../../model/wire/comparison';
import { comparable, compareAgain, comparison, comparisonProgress, stopComparison } from '../../state/compare/comparison';
import { isOtherSought, otherEntry, otherRunMissing } from '../../state/compare/manual_matches';
import { compareTwoWorkers, isOtherWorkerSought, otherWorkerMissing, ownWorkerMissing } from '../../state/compare/other_worker';
import { panelTab } from '../../state/page/choices';
import { panelOpen } from '../../state/page/preferences';
import { runDetail, runEntry } from '../../state/runs';
import { Segmented } from '../kit/Button';
import { Damage, Failure, Message } from '../kit/Message';
import { CompareGraphs } from './CompareGraphs';
import { CompareHead } from './CompareHead';
import { CompareTable, showDifference } from './CompareTable';
import { DifferenceValues } from './DifferenceValues';

const SHOWN = [
  { value: 'table', label: 'Table' },
  { value: 'both', label: 'Side by side' },
  { value: 'one', label: 'One graph' },
] as const;

const shown = signal<(typeof SHOWN)[number]['value']>('table');

/** Two runs side by side: whether they match within rounding, the first divergence, and every tensor's distances. */
export function CompareView() {
  return (
    <div class="pane-body compare" data-testid="compare">
      <CompareHead />
      <Body />
    </div>
  );
}

function Body() {
  if (otherRunMissing.value !== null) return <Lost called={otherRunMissing.value} />;
  if (otherEntry.value === null) return isOtherSought.value ? null : <Alone />;
  if (ownWorkerMissing.value !== null || otherWorkerMissing.value !== null) return <LostWorkers />;
  if (isOtherWorkerSought.value) return null;
  const result = comparison.data.value?.comparison;
  if (!comparable.value || (result && sameSide(result.a, result.b))) return <Itself />;
  if (comparison.error.value) return <Failure error={comparison.error.value} retry={compareAgain} />;
  if (!result) return <Working />;
  return (
    <>
      <section class="compare-answer" data-short={shown.value !== 'table'}>
        <p class="compare-verdict" data-differ={result.differ} data-testid="compare-verdict">
          {headline()}
        </p>
        <Damage sentences={comparison.data.value?.damage} />
        {result.notes.map((note) => (
          <p key={note} class="faint">
            {note}
          </p>
        ))}
        {result.first && <FirstDivergence first={result.first} />}
        <Segmented
          label="Show the comparison as"
          options={SHOWN}
          value={shown.value}
          onChange={(next) => {
            shown.value = next;
          }}
        />
      </section>
      {shown.value === 'table' ? <CompareTable /> : <CompareGraphs both={shown.value === 'both'} />}
      <DifferenceValues />
      <Unmatched comparison={result} />
    </>
  );
}

function headline(): string {
  const result = comparison.data.value?.comparison;
  if (!result) return '';
  const total = Object.values(result.counts).reduce((sum, count) => sum + count, 0);
  const { same, noise } = result.counts;
  const rest = `${formatCount(same)} identical, ${formatCount(noise)} within rounding`;
  const where = result.a.step === result.b.step ? `at step ${result.a.step}` : `at steps ${result.a.step} and ${result.b.step}`;
  if (total === 0) return 'There was nothing to compare.';
  if (!result.differ) return `Match ${result.steps > 1 ? `at all ${result.steps} steps` : where}: ${counted(total, 'tensor')} (${rest})`;
  return `Diverge ${where}: ${formatCount(total - same - noise)} of ${counted(total, 'tensor')} differ (${rest})`;
}

function Working() {
  const progress = comparisonProgress.value;
  const how = progress && progress.total > 0 ? ` ${progress.doing}: ${progress.done} of ${progress.total} tensors` : '';
  return (
    <div class="message">
      <p role="status">Comparing…{how}</p>
      <button type="button" class="button small" onClick={stopComparison} data-testid="compare-stop">
        Stop
      </button>
    </div>
  );
}

function Lost({ called }: { called: string }) {
  return (
    <Message title={`Run "${visible(called)}" not found`} testid="other-lost">
      <p>It may have been deleted, or the link is from another log directory. Choose run B above.</p>
    </Message>
  );
}

/** The workers requested by an address, for either side or both. */
function LostWorkers() {
  const [a, b] = [ownWorkerMissing.value, otherWorkerMissing.value];
  return (
    <div>
      {a !== null && <LostWorker side="A" run={runEntry.value?.name} called={a} />}
      {b !== null && <LostWorker side="B" run={otherEntry.value?.name} called={b} />}
    </div>
  );
}

function LostWorker({ side, run, called }: { side: 'A' | 'B'; run: string | undefined; called: string }) {
  return (
    <Message title={`${run ?? `Run ${side}`} has no worker ${visible(called)} to compare`} testid={`worker-lost-${side.toLowerCase()}`}>
      <p>The worker may belong to another run, or the run was overwritten. Choose a worker of {side} above.</p>
    </Message>
  );
}

function Itself() {
  return (
    <Message title="A and B are the same" testid="compare-itself">
      <p>Choose another run{hasWorkers() && ' or worker'} for B, or compare the current step with another step of B.</p>
      <TwoWorkers />
    </Message>
  );
}

const hasWorkers = () => (runDetail.value?.workers.length ?? 0) > 1;

/** Link to compare two workers of the current run, if it has several. */
function TwoWorkers() {
  if (!hasWorkers()) return null;
  return (
    <div class="actions">
      <button type="button" class="button" onClick={compareTwoWorkers} data-testid="compare-workers">
        Compare two of its workers
      </button>
    </div>
  );
}

function Alone() {
  return (
    <Message title={`No other run to compare with ${runEntry.value?.name ?? 'this one'}`}>
      <p>Write a second run to the same log directory, or compare the current step with another step of B.</p>
      <TwoWorkers />
    </Message>
  );
}

const LISTED = 50;

/** Numbers of paired nodes, and of nodes on one side only. */
function Unmatched({ comparison }: { comparison: Comparison }) {
  return (
    <details class="compare-matching" data-testid="compare-matching">
      <summary>{comparison.graphs.map(graphText).join(' ') || 'No graphs were paired.'}</summary>
      <ul>
        {comparison.graphs
          .flatMap((graph) => graph.renames)
          .map(([old, renamed, nodes]) => (
            <li key={old}>
              renamed <code>{visible(old)}</code> to <code>{visible(renamed)}</code> <span class="faint">({nodes} nodes)</span>
            </li>
          ))}
        <Nodes side="A" nodes={comparison.only_a} />
        <Nodes side="B" nodes={comparison.only_b} />
      </ul>
    </details>
  );
}

function graphText({ a, name, matched, only_a, only_b }: Comparison['graphs'][number]): string {
  const ways = Object.entries(matched).filter(([, count]) => count > 0);
  const how = ways.map(([way, count]) => `${formatCount(count)} matched by ${way}`).join(', ');
  const nodes = a === '-' ? 'Nodes without a graph' : `Nodes of ${visible(name)}`;
  return `${nodes}: ${how || 'none matched'}; ${formatCount(only_a)} only in A, ${formatCount(only_b)} only in B.`;
}

function Nodes({ side, nodes }: { side: string; nodes: readonly UnmatchedNode[] }) {
  return (
    <>
      {nodes.slice(0, LISTED).map((node) => (
        <li key={node.node}>
          only in {side}: <code>{visible(node.variable ? `${node.variable}, ${node.node}` : node.node)}</code>{' '}
          <span class="faint">
            {node.op_type && `(${node.op_type}${node.captured ? '' : ', not captured'})`}{' '}
            {node.frame && visible(`${node.frame.file.replace(/^.*\//, '')}:${node.frame.line}`)}
          </span>
        </li>
      ))}
      {nodes.length > LISTED && (
        <li class="faint">
          {nodes.length - LISTED} more only in {side}
        </li>
      )}
    </>
  );
}

/** The first divergence: where, why, its inputs and source lines. */
function FirstDivergence({ first }: { first: NonNullable<Comparison['first']> }) {
  const entry = first.difference;
  const earlier = earlierThan(entry, comparison.data.value?.rows ?? []);
  const at = first.title.lastIndexOf(entry.tensor);
  return (
    <div class="compare-first" data-testid="first-divergence" data-tensor={entry.tensor}>
      <p>
        {visible(first.title.slice(0, at))}
        <button type="button" class="link-name" onClick={() => showDifference(entry)}>
          {visible(entry.tensor)}
        </button>
        <span class="faint">{visible(first.title.slice(at + entry.tensor.length))}</span>
      </p>
      <p>{first.text}</p>
      {earlier && (
        <p class="faint" data-testid="compare-earlier">
          <button type="button" class="link-name" onClick={() => showDifference(earlier)}>
            {visible(earlier.tensor)}
          </button>
          , earlier in the graph, diverges independently.
        </p>
      )}
      <p class="faint num">{entry.distance}</p>
      {first.inputs.map((input) => (
        <p key={input.tensor} class="faint num">
          input{' '}
          <button type="button" class="link-name" onClick={() => showDifference(input)}>
            {visible(input.tensor)}
          </button>
          : {input.distance}
        </p>
      ))}
      <Line side="A" frame={first.frame} show={() => [showDifference(entry), showSource()]} />
      <Line side="B" frame={first.frame_b} />
    </div>
  );
}

interface LineProps {
  side: string;
  frame: { file: string; line: number; text: string | null } | null;
  /** Opens the line; only run A is on the page. */
  show?: () => void;
}

const showSource = (): void => {
  panelOpen.value = true;
  panelTab.value = 'source';
};

function Line({ side, frame, show }: LineProps) {
  if (frame === null) return null;
  const place = <code title={visible(frame.file)}>{`${visible(shortFile(frame.file))}:${frame.line}`}</code>;
  return (
    <p class="compare-source">
      {side}:{' '}
      {show ? (
        <button type="button" class="link" title="Show the source" onClick={show} data-testid="divergence-line">
          {place}
        </button>
      ) : (
        place
      )}{' '}
      <code>{visible(frame.text ?? '')}</code>
    </p>
  );
}
