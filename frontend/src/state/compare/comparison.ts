/** Compares the run with another one, or with another step or worker of the same run. */

import { computed, signal } from '@preact/signals';
import { ApiError, type Query } from '../../api/provider';
import { Lru } from '../../lib/lru';
import { matchText, partnerOf } from '../../model/run/manual_matches';
import { type ComparisonAnswer, sortDifferences, type TensorDifference, telling, verdictsByRow } from '../../model/wire/comparison';
import { type ColourBy, rowOf } from '../../model/wire/graph';
import { isShare, type ValueRange } from '../../model/wire/value_scale';
import { colourBy, graph } from '../graph/graph';
import { chosenTensor, compareAt, compareSort, otherStep, otherWorker, view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { step } from '../steps';
import { compareShown, manualPairs, ofTwoWorkers, otherEntry, otherRunId } from './manual_matches';
import { isOtherWorkerSought, otherWorkerMissing, ownWorkerMissing } from './other_worker';

const ASK_AGAIN_MS = 500;

/** Whether both workers exist; within one run, B must have another step or worker: a side equals itself. */
export const comparable = computed(() => {
  if (otherRunId.value === null || isOtherWorkerSought.value) return false;
  if (ownWorkerMissing.value !== null || otherWorkerMissing.value !== null) return false;
  return otherRunId.value !== runId.value || ofTwoWorkers.value || (compareAt.value === 'step' && otherStep.value !== null);
});

const query = computed<Query>(() => {
  const at = compareAt.value === 'step' ? step.value : null;
  const stepB = at === null ? null : (otherStep.value ?? at);
  const sides = { a: runId.value, b: otherRunId.value, step: at, step_b: stepB, worker: workerId.value, worker_b: otherWorker.value };
  return { ...sides, match: matchText(manualPairs.value) };
});

/** Progress of the server; null when idle. */
export const comparisonProgress = signal<ComparisonAnswer['progress'] | null>(null);

/** The cancelled comparison, which is not restarted automatically when its runs grow. */
let stopped: string | null = null;

/** Cancels the running comparison. */
export function stopComparison(): void {
  stopped = JSON.stringify(query.peek());
}

/** Compares again, even if cancelled. */
export function compareAgain(): void {
  stopped = null;
  comparison.reload();
}

/** The comparison, fetched while visible; polled until the server has finished. */
export const comparison = resource(
  computed(() => {
    if (!compareShown.value || !comparable.value) return null;
    const subject = JSON.stringify(query.value);
    return { key: `${subject} ${runRevision.value} ${otherEntry.value?.snapshots}`, subject, query: query.value };
  }),
  async (wanted, abort) => {
    if (stopped !== wanted.subject) stopped = null;
    try {
      return await compared(wanted, abort);
    } finally {
      if (!abort.aborted) comparisonProgress.value = null;
    }
  },
);

/** Polls until the server has finished, or the comparison is cancelled. */
async function compared(wanted: { subject: string; query: Query }, abort: AbortSignal): Promise<ComparisonAnswer> {
  let begun = false;
  for (;;) {
    if (stopped === wanted.subject) {
      comparisonProgress.value = null;
      if (begun) await api().comparison({ ...wanted.query, cancel: 1 }, abort);
      throw new ApiError(0, 'The comparison was stopped.', '');
    }
    const answer = await api().comparison({ ...wanted.query, all: true }, abort);
    if (abort.aborted) return answer;
    begun = true;
    comparisonProgress.value = answer.working ? answer.progress : null;
    if (!answer.working) {
      if (answer.error) throw new ApiError(0, answer.error, answer.hint ?? '');
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    // A newer request takes over.
    abort.throwIfAborted();
  }
}

/** Download address of the report of this view; null until it is ready. */
export const reportHref = computed<string | null>(() =>
  comparison.data.value?.comparison ? api().comparisonHref({ ...query.value, format: 'html' }) : null,
);

/** Equal tensors are only listed on request. */
export const equalShown = signal(false);

export const differences = computed<TensorDifference[]>(() => {
  const rows = comparison.data.value?.rows ?? [];
  const differ = comparison.data.value?.comparison?.differ ?? false;
  return sortDifferences(equalShown.value ? rows : telling(rows, differ), compareSort.value);
});

/** The selected compared tensor; if it is in several graphs, that of the current one. */
export const selectedDifference = computed<TensorDifference | null>(() => {
  const found = comparison.data.value?.rows.filter((row) => row.tensor === chosenTensor.value) ?? [];
  return found.find((row) => row.graph === graphId.value) ?? found[0] ?? null;
});

/**
 * Colouring of the graph: a statistic with its range over all steps once known, or the verdicts of the comparison. Two workers of one run
 * may have different graphs: both are coloured.
 */
export const graphColour = computed<ColourBy>(() => {
  const [by, data] = [colourBy.value, graph.data.value];
  if (by.kind === 'statistic') return statisticRange.data.value === null ? by : { ...by, range: statisticRange.data.value };
  if (by.kind !== 'difference' || data === null) return by;
  const [rows, result] = [comparison.data.value?.rows ?? [], comparison.data.value?.comparison];
  const ofB = result?.graphs.every((pair) => pair.a !== data.id) && runId.value === otherRunId.value;
  return { ...by, verdicts: verdictsByRow(data, rows, ofB ? 'b' : 'a') };
});

/** The graph of B that is compared with the current graph. */
const otherGraphRequest = computed(() => {
  const pair = comparison.data.value?.comparison?.graphs.find((candidate) => candidate.a === graph.data.value?.id);
  if (!pair || otherRunId.value === null) return null;
  const key = `${otherRunId.value} ${pair.b}`;
  return { key, subject: key, run: otherRunId.value, graph: pair.b };
});

export const otherGraph = resource(otherGraphRequest, (wanted, abort) => api().graph(wanted.run, wanted.graph, abort));

/** Both graphs coloured by the difference. */
export const sideColours = computed(() => {
  const rows = comparison.data.value?.rows ?? [];
  const [a, b] = [graph.data.value, otherGraph.data.value];
  return {
    a: { kind: 'difference' as const, verdicts: a ? verdictsByRow(a, rows) : new Uint8Array(0) },
    b: { kind: 'difference' as const, verdicts: b ? verdictsByRow(b, rows, 'b') : new Uint8Array(0) },
  };
});

/** The node of B that corresponds to a node of the current graph. */
export function partner(node: string): string | null {
  const [b, result] = [otherGraph.data.value, comparison.data.value?.comparison];
  if (b === null) return null;
  const found = result?.graphs.find((pair) => pair.b === b.id)?.matches ?? {};
  return partnerOf(node, manualPairs.value, found, (name) => rowOf(b, name) >= 0);
}

/** Position of the largest difference of the selected tensor, if it has more than two dimensions. */
export const worstElement = resource(
  computed(() => {
    const row = selectedDifference.value;
    if (!compareShown.value || row === null || row.basis !== 'values' || row.shape_a.length < 3 || row.shape_a.includes(0)) return null;
    const asked = differenceQuery(row);
    const key = JSON.stringify(asked);
    return { key, subject: key, query: asked };
  }),
  (wanted, abort) => api().worstDifference(wanted.query, abort),
);

/** Request parameters for the values of a compared tensor. */
export function differenceQuery(row: TensorDifference): Query {
  const result = comparison.data.value?.comparison;
  if (!result) return {};
  const { a, b } = result;
  const sides = { a: a.run_id, b: b.run_id, step: a.step, step_b: b.step, worker: a.worker, worker_b: b.worker };
  return { ...sides, tensor: row.tensor, other: row.other, graph: row.graph, graph_b: row.other_graph, visit: row.visit };
}

/** Cached, so that switching views or statistics does not flash other colours. */
const ranges = new Lru<string, ValueRange>(32);

/** Range of the colouring statistic over all steps, so that a colour has the same meaning at each step. */
const statisticRange = resource(
  computed(() => {
    const [run, graph, { kind, statistic = 'abs_max' }] = [runId.value, graphId.value, colourBy.value];
    if (view.value !== 'graph' || run === null || graph === null || kind !== 'statistic' || isShare(statistic)) return null;
    const subject = `${run} ${graph} ${workerId.value} ${statistic}`;
    return { key: `${subject} ${runRevision.value}`, subject, run, graph, query: { statistic, worker: workerId.value } };
  }),
  ({ run, graph, query }, abort) => api().statisticRange(run, graph, query, abort),
  { cache: ranges },
);
