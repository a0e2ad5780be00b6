import { counted, formatAgo, formatCount } from '../../lib/text/format';
import type { WorkerEntry } from '../../model/wire/answers';
import { writingState } from '../../model/wire/names';
import { view } from '../../state/page/choices';
import { closeRunPanel, problemsShown, toggleProblems } from '../../state/page/ui';
import { batch, batchSteps, triggers, triggersHere } from '../../state/problems/events';
import { severeCount } from '../../state/problems/findings';
import { problemCount } from '../../state/problems/problems';
import { recordedSteps } from '../../state/replay/replay';
import { nothingCaptured, run, runEntry, runName, runPhase } from '../../state/runs';
import { step } from '../../state/steps';
import { shownStory } from '../../state/story';
import { IconButton } from '../kit/Button';
import { Prose } from '../kit/Prose';
import { Notices, ProblemList } from '../problems/ProblemList';
import { Recorded } from '../shell/NothingCaptured';
import { PinnedBar } from './PinnedBar';

/** `8, from 0 to 14`: how many, the first and the last; in a story `8 of 15, …`. */
function stepsText(steps: readonly number[], all: number): string | null {
  if (steps.length === 0) return null;
  const count = shownStory.value === null ? formatCount(steps.length) : `${steps.length} of ${formatCount(all)}`;
  return steps.length === 1 ? `${count}, step ${steps[0]}` : `${count}, from ${steps[0]} to ${steps[steps.length - 1]}`;
}

/** The run as a whole, while no node is selected. */
export function RunSummary() {
  const entry = runEntry.value;
  const detail = run.data.value;
  if (entry === null || detail === null) return <section class="panel" aria-label="Run" />;
  const steps = detail.steps.step;
  const none = runPhase.value === 'over' ? 'none' : 'none yet';
  const facts: [string, string][] = [
    ['exported from' in detail.info ? 'Exported' : 'Started', new Date(entry.created * 1000).toLocaleString()],
    ['Last snapshot', entry.last_time === null ? none : formatAgo(entry.last_time, Date.now() / 1000)],
    ['Steps', stepsText(steps, entry.steps.count) ?? none],
    ['Snapshots', formatCount(entry.snapshots)],
    ['NaN/Inf snapshots', entry.nonfinite === null ? 'unknown' : formatCount(entry.nonfinite)],
    ...Object.entries(detail.info).flatMap(([name, value]): [string, string][] => {
      const text = textOf(value, name === 'watch' ? ' | ' : ' ');
      return text === null ? [] : [[factName(name), text]];
    }),
  ];
  return (
    <section class="panel" aria-label="Run" data-testid="run-summary">
      <header class="panel-head">
        <div class="grow">
          <div class="panel-scope">Run</div>
          <h2 class="panel-title">
            <span class="truncate">{runName.value}</span>
          </h2>
        </div>
        <IconButton small icon="close" label="Close the run panel" onClick={closeRunPanel} />
      </header>
      <div class="panel-body">
        <p class="panel-hint">
          {hint(detail.graphs.length)} {nothingCaptured.value && <Recorded />}
        </p>
        <PinnedBar />
        <StepSection />
        {view.value !== 'problems' && !problemsShown.value && <ProblemsHere />}
        <Section title="Run" rows={facts} />
        <section class="section">
          <h3>
            Workers <span class="faint num">{detail.workers.length}</span>
          </h3>
          {detail.workers.map((worker) => (
            <Worker key={worker.id} worker={worker} />
          ))}
        </section>
      </div>
    </section>
  );
}

function hint(graphs: number): string {
  if (!nothingCaptured.value) return 'Select a node to see its values, histograms and history. Press / to search.';
  if (runPhase.value !== 'over') return 'No tensors captured yet. Values, histograms and history will appear here.';
  if (graphs === 0 || recordedSteps.value.length > 0) return 'No tensors were captured.';
  return 'Graph only: no tensors were captured. Tensors lists the likely causes.';
}

/** The problems, if they have no column. */
function ProblemsHere() {
  if (problemCount.value + severeCount.value === 0) return <Notices />;
  return (
    <section class="section problems-here" aria-label="Problems">
      <div class="row">
        <h3 class="grow">Problems</h3>
        <button type="button" class="button quiet small" onClick={toggleProblems} title="Show problems in a left sidebar (Shift+W)">
          Pin to sidebar
        </button>
      </div>
      <ProblemList />
    </section>
  );
}

/** Heading for a fact of the dump. */
const factName = (name: string): string => FACT_NAMES.get(name) ?? name.charAt(0).toUpperCase() + name.slice(1);
const FACT_NAMES = new Map([
  ['watch', 'Capture rule'],
  ['tensorflow', 'TensorFlow'],
  ['numpy', 'NumPy'],
]);

/** Plain facts, and lists of texts such as the command and the watches; null for anything else. */
function textOf(value: unknown, joint: string): string | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string') ? value.join(joint) : null;
}

function Section({ title, rows }: { title: string; rows: [string, string][] }) {
  return (
    <section class="section">
      <h3>{title}</h3>
      <dl class="facts num">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Worker({ worker }: { worker: WorkerEntry }) {
  const dropped = worker.dropped > 0 ? ` · ${formatCount(worker.dropped)} dropped` : '';
  return (
    <div class="worker">
      <span class="live-dot" data-live={worker.live} />
      <span class="truncate grow" title={worker.id}>
        {worker.rank === null ? worker.host : `rank ${worker.rank} on ${worker.host}`} <span class="faint">pid {worker.pid}</span>
      </span>
      <span class="faint num">
        {formatCount(worker.snapshots)} · {writingState(worker)}
        {dropped}
      </span>
    </div>
  );
}

/** Events of the current step: fired triggers, and numbers of samples per file. */
function StepSection() {
  const fired = triggersHere.value;
  const samples = batch.data.value ?? [];
  if (step.value === null || (triggers.value.length === 0 && batchSteps.value === 0)) return null;
  const files = new Set(samples.flatMap((entry) => entry.files ?? []));
  const count = samples.reduce((sum, entry) => sum + entry.count, 0);
  return (
    <section class="section step-section" aria-label="This step" data-testid="step-section" data-step={step.value}>
      <h3>Step {step.value}</h3>
      {fired.map(({ trigger, reason, time }) => (
        <button type="button" class="panel-alert" key={`${trigger} ${time}`} onClick={showEvents}>
          <b>{trigger} fired</b>
          <span>{reason}</span>
        </button>
      ))}
      {batchSteps.value > 0 && (
        <p>
          {count === 0 ? 'Sample IDs not recorded.' : `Batch: ${counted(count, 'sample')}`}
          {count > 0 && files.size > 0 && ` from ${formatCount(files.size)} ${files.size === 1 ? 'file' : 'files'}`}
        </p>
      )}
      <button type="button" class="button small" onClick={showEvents}>
        Events and samples
      </button>
    </section>
  );
}

function showEvents(): void {
  view.value = 'events';
}
