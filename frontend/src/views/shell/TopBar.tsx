import { counted } from '../../lib/format';
import { shareAddress } from '../../lib/host_page';
import type { Way } from '../../model/wire/answers';
import { byRank, graphChoices, workerName } from '../../model/wire/names';
import { view } from '../../state/choices';
import { theme, toggleTheme } from '../../state/preferences';
import { severeCount } from '../../state/problems/findings';
import { counting, intendedProblems, problemCount } from '../../state/problems/problems';
import { graphId, nanUncounted, nothingCaptured, run, runEntry, workerId } from '../../state/runs';
import { chooseGraph, chooseWorker } from '../../state/selection';
import { helpOpen } from '../../state/ui';
import { IconButton } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Icon } from '../kit/Icon';
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
      <CopyButton text={shareAddress} label="Copy a link to what is on show" icon="link" large />
      <IconButton
        icon={theme.value === 'dark' ? 'sun' : 'moon'}
        label={theme.value === 'dark' ? 'Light theme (t)' : 'Dark theme (t)'}
        onClick={toggleTheme}
        testid="theme-toggle"
      />
      <IconButton
        icon="help"
        label="Help and keys (?)"
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
  const choices = byRank(workers).map((worker) => ({
    id: worker.id,
    name: workerName(worker.id, workers),
    detail: `${worker.host} · pid ${worker.pid} · ${counted(worker.snapshots, 'snapshot')}`,
  }));
  return <Picker label="Worker" none="all workers" choices={choices} selected={workerId.value} onSelect={chooseWorker} />;
}

/** Says in a few words how the run is, and leads to why. */
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
        view.value = open ? 'graph' : 'problems';
      }}
      title="All problems of the run, explained (w)"
      data-testid="problems-toggle"
    >
      <Icon name="warning" />
      {summary(count, severe, intendedProblems.value.length)}
    </button>
  );
}

function summary(nonfinite: number, severe: number, harmless: number): string {
  if (nonfinite > 0) return `${counted(nonfinite, 'tensor')} with NaN/Inf`;
  if (severe > 0) return counted(severe, 'severe finding');
  if (counting.value) return 'Counting NaN/Inf …';
  if (harmless > 0) return 'NaN/Inf, all harmless';
  if (nothingCaptured.value) return 'Nothing captured';
  return nanUncounted.value ? 'NaN/Inf not counted' : 'No NaN/Inf';
}

const TEXTS: Record<Exclude<Way, ''>, { text: string; title: string }> = {
  'in-place': {
    text: 'in place',
    title: 'Captured in the training step itself. With Tap(exact=True) a shadow is captured, and no bit of the step can change.',
  },
  shadow: {
    text: 'shadow',
    title: 'Captured in a shadow, which ran on copies of the state. The training step itself was left untouched.',
  },
};

/** How the graph on show was captured; nothing where the dump does not say. */
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
