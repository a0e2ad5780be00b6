import { counted, formatCount } from '../../lib/text/format';
import type { Way } from '../../model/wire/answers';
import { graphChoices, workerName, worstFirst } from '../../model/wire/names';
import { view } from '../../state/page/choices';
import { modelPicture, theme, toggleTheme } from '../../state/page/preferences';
import { helpOpen } from '../../state/page/ui';
import { findingCounts, severeCount } from '../../state/problems/findings';
import { counting, damaged, droppedCount, intendedProblems, problemCount } from '../../state/problems/problems';
import { graphId, nanUncounted, nothingCaptured, run, runEntry, workerId } from '../../state/runs';
import { chooseGraph, chooseWorker } from '../../state/selection';
import { IconButton } from '../kit/Button';
import { Icon } from '../kit/Icon';
import { ShareMenu } from '../share/ShareMenu';
import { Bookmarks } from './Bookmarks';
import { Picker } from './Picker';
import { RunPicker } from './RunPicker';

export function TopBar() {
  return (
    <header class="topbar">
      <div class="brand">
        <Mark />
        <h1>tensortap</h1>
      </div>
      <RunPicker />
      <GraphPicker />
      <WayBadge />
      <WorkerPicker />
      <div class="grow" />
      <ProblemsButton />
      <Bookmarks />
      <ShareMenu />
      <IconButton
        icon={theme.value === 'dark' ? 'sun' : 'moon'}
        label={theme.value === 'dark' ? 'Light theme (t)' : 'Dark theme (t)'}
        onClick={toggleTheme}
        testid="theme-toggle"
      />
      <IconButton
        icon="help"
        label="Keyboard shortcuts (?)"
        onClick={() => {
          helpOpen.value = true;
        }}
      />
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M8 11h16M16 11v12" stroke="var(--surface)" stroke-width="3.4" stroke-linecap="round" />
      <circle cx="16" cy="23.5" r="3" fill="var(--inf)" />
    </svg>
  );
}

function GraphPicker() {
  const graphs = run.data.value?.graphs ?? [];
  if (graphs.length < 2) return null;
  return <Picker label="Graph" choices={graphChoices(graphs)} selected={graphId.value} onSelect={chooseGraph} />;
}

function WorkerPicker() {
  const workers = run.data.value?.workers ?? [];
  if (workers.length < 2) return null;
  const choices = worstFirst(workers).map((worker) => ({
    id: worker.id,
    name: workerName(worker.id, workers),
    detail: `${worker.host} · pid ${worker.pid} · ${counted(worker.snapshots, 'snapshot')}`,
  }));
  return <Picker label="Worker" none="all workers" choices={choices} selected={workerId.value} onSelect={chooseWorker} />;
}

/** State of the run in a few words, with a link to the problems. */
function ProblemsButton() {
  const [count, severe] = [problemCount.value, severeCount.value];
  if (runEntry.value === null) return null;
  const open = view.value === 'problems';
  return (
    <button
      type="button"
      class={`button ${count + severe > 0 ? 'alert' : 'quiet'}`}
      aria-pressed={open}
      onClick={() => {
        view.value = open ? modelPicture.value : 'problems';
      }}
      title="Open Problems (W)"
      data-testid="problems-toggle"
    >
      <Icon name={count + severe > 0 ? 'warning' : isHealthy() ? 'check' : 'info'} />
      {summary(count, severe, intendedProblems.value.length)}
    </button>
  );
}

/** Whether no captured tensor was lost, and all were counted and are finite. */
const isHealthy = (): boolean =>
  droppedCount.value === 0 && !counting.value && !damaged.value && !nothingCaptured.value && !nanUncounted.value;

function summary(nonfinite: number, severe: number, expected: number): string {
  if (nonfinite > 0) return `${counted(nonfinite, 'NaN/Inf tensor')}`;
  if (severe > 0) return counted(severe, 'high finding');
  if (counting.value) return 'Counting NaN/Inf…';
  if (expected > 0) return 'NaN/Inf: expected only';
  if (nothingCaptured.value) return 'No tensor data (graph only)';
  if (nanUncounted.value) return 'NaN/Inf unknown (import)';
  const { medium, low } = findingCounts.value;
  const found = [medium > 0 ? `${medium} medium` : '', low > 0 ? `${low} low` : ''].filter(Boolean);
  if (droppedCount.value > 0) found.push(`${formatCount(droppedCount.value)} dropped`);
  return ['All finite', ...found].join(' · ');
}

const TEXTS: Record<Exclude<Way, ''>, { text: string; title: string }> = {
  'in-place': {
    text: 'captured in-graph',
    title: 'Captured inside the training step. Use Tap(exact=True) to capture from a shadow copy, which cannot change any bit of the step.',
  },
  shadow: {
    text: 'shadow copy',
    title: 'Captured from a shadow copy that ran on copies of the state. The training step itself was not changed.',
  },
};

/** How the current graph was captured; nothing if the dump does not say. */
function WayBadge() {
  const way = run.data.value?.graphs.find((graph) => graph.id === graphId.value)?.way;
  if (!way) return null;
  const { text, title } = TEXTS[way];
  return (
    <span class="chip way-badge" title={title} data-testid="way-badge">
      {text}
    </span>
  );
}
