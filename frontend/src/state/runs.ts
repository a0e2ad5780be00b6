import { computed, effect, signal } from '@preact/signals';
import { resolveRunId } from '../model/run/link_errors';
import type { GraphEntry, RunDetail, RunEntry, RunList } from '../model/wire/answers';
import { missingRunName, runNames } from '../model/wire/names';
import { chosenGraph, chosenLayer, chosenRun, chosenStep, chosenTensor, chosenWorker } from './page/choices';
import { api } from './provider';
import { type Resource, resource } from './resource';

/** The list of runs; null until loaded. Updated by state/live.ts. */
export const runList = signal<RunList | null>(null);

export const runs = computed<RunEntry[]>(() => runList.value?.runs ?? []);

/** The newest run, in which something was selected: a run that starts meanwhile does not replace it. */
const inspectedRun = signal<string | null>(null);

/** The current run: the chosen one, by id or unique name; else the inspected one, else the newest. */
export const runId = computed<string | null>(() => {
  const wanted = chosenRun.value ?? runs.value.find((run) => run.id === inspectedRun.value)?.id ?? runs.value[0]?.id ?? null;
  return wanted === null ? null : resolveRunId(wanted, runs.value);
});

effect(() => {
  const isInspecting = [chosenTensor, chosenLayer, chosenStep].some((choice) => choice.value !== null);
  inspectedRun.value = isInspecting ? runId.value : null;
});

export const runEntry = computed<RunEntry | null>(() => runs.value.find((run) => run.id === runId.value) ?? null);

/** Display names of the runs, by id. */
export const namesOfRuns = computed(() => runNames(runs.value));

/** Display name of a run, also of one that was deleted. */
export const nameOfRun = (id: string): string => namesOfRuns.value.get(id) ?? missingRunName(id);

/** Display name of the current run; null if there is none. */
export const runName = computed<string | null>(() => (runId.value === null ? null : (namesOfRuns.value.get(runId.value) ?? null)));

/** Changes when the current run has new snapshots, to reload dependent data. */
export const runRevision = computed<string>(
  () => `${runEntry.value?.snapshots ?? 0}/${runEntry.value?.graphs ?? 0}/${runEntry.value?.live ?? false}`,
);

export const run: Resource<RunDetail> = resource(
  computed(() => {
    const id = runId.value;
    // A change may concern only workers and events: a run without snapshots has those, too.
    return id === null || runEntry.value === null ? null : { key: `${id} ${runRevision.value} ${runEntry.value.news}`, subject: id, id };
  }),
  ({ id }, abort) => api().run(id, null, abort),
);

/** Details of the current run; null while they are those of another run. */
export const runDetail = computed<RunDetail | null>(() => (run.data.value?.id === runId.value ? run.data.value : null));

type RunPhase = 'written' | 'silent' | 'over';

/** Whether the run may grow: it is being written, is silent but not closed (killed, or in a long step), or all its workers closed it. */
export const runPhase = computed<RunPhase>(() => {
  if (runEntry.value?.live !== false) return 'written';
  const workers = runDetail.value?.workers ?? [];
  return workers.length > 0 && workers.every((worker) => worker.closed) ? 'over' : 'silent';
});

/** Whether the list is newer than the run's details: the server was still opening it. */
export const detailOutdated = computed(() => {
  const [detail, entry] = [runDetail.value, runEntry.value];
  if (detail === null || entry === null || entry.error) return false;
  return detail.created === 0 || (detail.graphs.length === 0 && entry.graphs > 0);
});

/** Whether an imported run does not count NaN (FORMAT.md, "Unknown counts"). */
export const nanUncounted = computed(() => {
  const text = String(runDetail.value?.info['not counted'] ?? '');
  return text === 'NaN and infinities' || text.split(', ').includes('nan'); // the former in older imports
});

/** Whether the server has read nothing of the run yet, so nothing is known about it. */
export const unopened = computed(() => {
  const entry = runEntry.value;
  return entry !== null && !entry.error && entry.created === 0 && entry.graphs === 0 && entry.snapshots === 0;
});

/** Whether the run has no snapshots. */
export const nothingCaptured = computed(() => runEntry.value?.snapshots === 0);

/** The graph chosen automatically; it stays, even if another one gets more snapshots as the run grows. */
const pickedGraph = signal<{ run: string; graph: string } | null>(null);

/** The graph with the most snapshots of a worker; null if there is none. */
export function graphOfWorker(worker: string | null): GraphEntry | null {
  return runDetail.value?.graphs.find((graph) => worker !== null && graph.workers.includes(worker)) ?? null;
}

/** The first graph with snapshots (sorted by their number); without any, the largest, except those that only initialize or restore. */
function bestGraph(graphs: readonly GraphEntry[]): GraphEntry | undefined {
  if (graphs[0] === undefined || graphs[0].snapshots > 0) return graphs[0];
  const models = graphs.filter(({ name }) => !/initiali[sz]e|restore|saver?\b/i.test(name));
  return [...(models.length > 0 ? models : graphs)].sort((a, b) => b.nodes - a.nodes)[0];
}

/** The current graph: the chosen one, else the one with the most snapshots, of the chosen worker if there is one. */
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
