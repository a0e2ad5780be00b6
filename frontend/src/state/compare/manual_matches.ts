import { computed, signal } from '@preact/signals';
import { resolveRunId } from '../../model/run/link_errors';
import { type Pairs, pairsOf } from '../../model/run/manual_matches';
import { colourBy } from '../graph/graph';
import { otherRun, otherWorker, view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { runId, runList, runs, workerId } from '../runs';

/** Manual pairs, stored in this browser per pair of runs; download the file to share them. */
const PREFIX = 'tensortap.matches.';
const MOST_UNDONE = 100;

const chosen = computed<string | null>(() => {
  const called = otherRun.value === null ? null : resolveRunId(otherRun.value, runs.value);
  return runs.value.find((run) => run.id === called)?.id ?? null;
});

/** Run B in an address, if the run does not exist. */
export const otherRunMissing = computed<string | null>(() => (runList.value !== null && chosen.value === null ? otherRun.value : null));

/** Whether a comparison is shown. */
export const compareShown = computed(() => view.value === 'compare' || colourBy.value.kind === 'difference');

/** The run with the most tensors in common with A; requested if a run B is needed and none was chosen. */
const mostSimilar = resource(
  computed(() => {
    const run = runId.value;
    if (!compareShown.value || otherRun.value !== null || run === null || runs.value.length < 2) return null;
    const key = JSON.stringify([run, runs.value.map(({ id }) => id)]);
    return { key, subject: key, run };
  }),
  ({ run }, abort) => api().mostSimilarRun(run, abort),
);

/** Whether run B is still unknown. */
export const isOtherSought = computed(() => chosen.value === null && mostSimilar.loading.value);

/** Run B: the chosen one (null if it does not exist), else the most similar, else the newest other run. */
export const otherRunId = computed<string | null>(() => {
  if (otherRun.value !== null || isOtherSought.value) return chosen.value;
  const found = mostSimilar.data.value?.run;
  const known = runs.value.find((run) => run.id === found) ?? runs.value.find((run) => run.id !== runId.value);
  return known?.id ?? null;
});

export const otherEntry = computed(() => runs.value.find((run) => run.id === otherRunId.value) ?? null);

/** Whether two workers of one run are compared, according to the choices. */
export const ofTwoWorkers = computed(
  () => otherRunId.value === runId.value && otherWorker.value !== null && otherWorker.value !== workerId.value,
);

/** Within one run, pairs belong to the two workers, which may have different graphs. */
const subject = computed(() => {
  const sides = `${runId.value} ${otherRunId.value}`;
  return ofTwoWorkers.value ? `${sides} ${workerId.value ?? ''} ${otherWorker.value}` : sides;
});
const changed = signal(0);
const before = signal<readonly { subject: string; pairs: Pairs }[]>([]);

export const manualPairs = computed<Pairs>(() => {
  changed.value;
  return load(subject.value);
});

export const canUndo = computed(() => before.value.some((entry) => entry.subject === subject.value));

export function setPairs(pairs: Pairs): void {
  before.value = [...before.value, { subject: subject.value, pairs: manualPairs.value }].slice(-MOST_UNDONE);
  keep(subject.value, pairs);
}

/** Undoes the last change of the pairs. */
export function undoPairs(): void {
  const at = before.value.map((entry) => entry.subject).lastIndexOf(subject.value);
  const entry = before.value[at];
  if (!entry) return;
  before.value = before.value.filter((_, i) => i !== at);
  keep(entry.subject, entry.pairs);
}

/** If storage is unavailable, pairs last as long as the page. */
const unkept = new Map<string, Pairs>();

function load(of: string): Pairs {
  const held = unkept.get(of);
  if (held) return held;
  try {
    return pairsOf(JSON.parse(localStorage.getItem(PREFIX + of) ?? '{}')) ?? {};
  } catch {
    return {};
  }
}

function keep(of: string, pairs: Pairs): void {
  unkept.set(of, pairs);
  try {
    if (Object.keys(pairs).length === 0) localStorage.removeItem(PREFIX + of);
    else localStorage.setItem(PREFIX + of, JSON.stringify(pairs));
  } catch {
    // Private windows and some iframes refuse storage.
  }
  changed.value += 1;
}
