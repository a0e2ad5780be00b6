import { computed, effect, signal } from '@preact/signals';
import { resolveRunId } from '../model/run/link_errors';
import type { GraphEntry, RunDetail, RunEntry, RunList } from '../model/wire/answers';
import { runNames } from '../model/wire/names';
import { chosenGraph, chosenRun, chosenWorker } from './page/choices';
import { api } from './provider';
import { type Resource, resource } from './resource';

/** The list of runs; null until it was loaded once. Kept up to date by state/live.ts. */
export const runList = signal<RunList | null>(null);

export const runs = computed<RunEntry[]>(() => runList.value?.runs ?? []);

/** The current run: the chosen one, by id or by its name where that is one run's alone; else the newest. */
export const runId = computed<string | null>(() => {
  const chosen = chosenRun.value;
  return chosen === null ? (runs.value[0]?.id ?? null) : resolveRunId(chosen, runs.value);
});

export const runEntry = computed<RunEntry | null>(() => runs.value.find((run) => run.id === runId.value) ?? null);

/** What the runs are called, by id. */
export const namesOfRuns = computed(() => runNames(runs.value));

/** What the current run is called; null where there is none. */
export const runName = computed<string | null>(() => (runId.value === null ? null : (namesOfRuns.value.get(runId.value) ?? null)));

/** Grows whenever the current run has new snapshots, so that what depends on them is asked for again. */
export const runRevision = computed<string>(
  () => `${runEntry.value?.snapshots ?? 0}/${runEntry.value?.graphs ?? 0}/${runEntry.value?.live ?? false}`,
);

export const run: Resource<RunDetail> = resource(
  computed(() => {
    const id = runId.value;
    // News may be of workers and events alone: a run without a snapshot has those, too.
    return id === null || runEntry.value === null ? null : { key: `${id} ${runRevision.value} ${runEntry.value.news}`, subject: id, id };
  }),
  ({ id }, abort) => api().run(id, null, abort),
);

/** Details of the current run; null while those of another run are still there. */
export const runDetail = computed<RunDetail | null>(() => (run.data.value?.id === runId.value ? run.data.value : null));

type RunPhase = 'written' | 'silent' | 'over';

/** Whether more of the run may come: it is being written, was not closed but writes no more (killed, or in a long step), or all its workers closed it. */
export const runPhase = computed<RunPhase>(() => {
  if (runEntry.value?.live !== false) return 'written';
  const workers = runDetail.value?.workers ?? [];
  return workers.length > 0 && workers.every((worker) => worker.closed) ? 'over' : 'silent';
});

/** Whether the list knows more of the current run than its details, which are on their way: the server was still opening it. */
export const detailOutdated = computed(() => {
  const [detail, entry] = [runDetail.value, runEntry.value];
  if (detail === null || entry === null || entry.error) return false;
  return detail.created === 0 || (detail.graphs.length === 0 && entry.graphs > 0);
});

/** Whether the source of an imported run does not tell NaN (FORMAT.md, "Unknown counts"). */
export const nanUncounted = computed(() => {
  const text = String(runDetail.value?.info['not counted'] ?? '');
  return text === 'NaN and infinities' || text.split(', ').includes('nan'); // the former in older imports
});

/** Whether the server only knows that there is such a run: it has read nothing of it yet, and nothing can be said of it. */
export const unopened = computed(() => {
  const entry = runEntry.value;
  return entry !== null && !entry.error && entry.created === 0 && entry.graphs === 0 && entry.snapshots === 0;
});

/** Whether the run holds no snapshot of any graph. */
export const nothingCaptured = computed(() => runEntry.value?.snapshots === 0);

/** The graph that was picked for a run without a choice; it stays, even when another one overtakes it while the run goes on. */
const pickedGraph = signal<{ run: string; graph: string } | null>(null);

/** The graph of which a worker captured most; null where it captured none. */
export function graphOfWorker(worker: string | null): GraphEntry | null {
  return runDetail.value?.graphs.find((graph) => worker !== null && graph.workers.includes(worker)) ?? null;
}

/** The one with most snapshots, which come first; where nothing was captured the largest one, but none that only initializes or restores. */
function bestGraph(graphs: readonly GraphEntry[]): GraphEntry | undefined {
  if (graphs[0] === undefined || graphs[0].snapshots > 0) return graphs[0];
  const models = graphs.filter(({ name }) => !/initiali[sz]e|restore|saver?\b/i.test(name));
  return [...(models.length > 0 ? models : graphs)].sort((a, b) => b.nodes - a.nodes)[0];
}

/** The current graph: the chosen one, else the one with most snapshots, of the chosen worker if there is one. */
export const graphId = computed<string | null>(() => {
  const graphs = runDetail.value?.graphs ?? [];
  const find = (id: string | null | undefined) => graphs.find((graph) => graph.id === id);
  const picked = pickedGraph.value?.run === runId.value ? pickedGraph.value?.graph : null;
  const fits = (graph: GraphEntry | undefined) => graph && (chosenWorker.value === null || graph.workers.includes(chosenWorker.value));
  const best = fits(find(picked)) ? find(picked) : (graphOfWorker(chosenWorker.value) ?? find(picked) ?? bestGraph(graphs));
  return (find(chosenGraph.value) ?? best)?.id ?? null;
});

effect(() => {
  const detail = runDetail.value;
  const first = detail?.graphs[0];
  if (!detail || !first || first.snapshots === 0 || pickedGraph.peek()?.run === detail.id) return;
  pickedGraph.value = { run: detail.id, graph: first.id };
});

export const severalWorkers = computed(() => (runDetail.value?.workers.length ?? 0) > 1);

export const workerId = computed<string | null>(() => {
  const workers = runDetail.value?.workers ?? [];
  return workers.some((worker) => worker.id === chosenWorker.value) ? chosenWorker.value : null;
});
