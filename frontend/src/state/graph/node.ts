import { computed, signal } from '@preact/signals';
import { snapshotAt, visitsOf } from '../../model/run/step_list';
import type { Snapshot } from '../../model/wire/answers';
import { rowOf } from '../../model/wire/graph';
import type { NodeStatistic } from '../../model/wire/value_scale';
import { chosenTensor, chosenVisit, panelTab } from '../page/choices';
import { histogramScale, historyBand, panelOpen } from '../page/preferences';
import { api } from '../provider';
import { computedPlace, watchForLoss } from '../replay/replay';
import { resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { selected, selectedNode } from '../selection';
import { serverSteps, step, stepColumns, stepIndex } from '../steps';
import { graph } from './graph';

/** Data of the selected node and tensor. Nothing is fetched while the panel is closed. */
const place = computed(() => {
  if (runId.value === null || graphId.value === null) return null;
  return { run: runId.value, graph: graphId.value };
});

export const node = resource(
  computed(() => {
    const name = selectedNode.value;
    if (name === null || place.value === null) return null;
    const subject = `${place.value.run} ${place.value.graph} ${name}`;
    return { ...place.value, key: `${subject} ${runRevision.value}`, subject, name };
  }),
  (wanted, abort) => api().node(wanted.run, wanted.graph, wanted.name, abort),
);

/** Whether the run has any snapshot of the selected tensor; null until the node is known. */
export const captured = computed<boolean | null>(() => {
  const detail = node.data.value;
  if (detail === null || detail.name !== selectedNode.value) return null;
  return (detail.outputs.find((output) => output.slot === selected.value?.slot)?.snapshots ?? 0) > 0;
});

/** The nodes that read the variable whose handle is selected, none for other resources; null for a tensor with values. */
export const handleReads = computed<readonly string[] | null>(() => {
  const [detail, drawn] = [node.data.value, graph.data.value];
  const output = detail?.name === selectedNode.value ? detail?.outputs.find(({ slot }) => slot === selected.value?.slot) : undefined;
  if (output?.dtype !== 'resource' || drawn === null) return null;
  const { variables, opTypes, names } = drawn;
  const variable = variables.at(rowOf(drawn, detail!.name));
  const rows = variable === '' ? [] : [...variables.codes.keys()].filter((row) => variables.at(row) === variable);
  return rows.filter((row) => opTypes.at(row) === 'ReadVariableOp').map((row) => names.at(row));
});

/** The selected output, if the node does not have it: an address can name any. */
export const missingSlot = computed<number | null>(() => {
  const [detail, chosen] = [node.data.value, selected.value];
  if (detail === null || chosen === null || detail.name !== chosen.node) return null;
  const nothing = detail.outputs.length === 0 && chosen.slot === 0; // it stands for the node
  return nothing || detail.outputs.some(({ slot }) => slot === chosen.slot) ? null : chosen.slot;
});

const tensorRequest = computed(() => {
  const tensor = chosenTensor.value;
  if (tensor === null || place.value === null || !panelOpen.value || !captured.value) return null;
  const subject = `${place.value.run} ${place.value.graph} ${workerId.value} ${tensor}`;
  return { ...place.value, worker: workerId.value, tensor, subject, key: `${subject} ${runRevision.value}` };
});

/** The computed version of the tensor, as a request. */
const computedRequest = computed(() => {
  const [tensor, place] = [chosenTensor.value, computedPlace.value];
  if (tensor === null || place === null || !panelOpen.value) return null;
  const { run, graph } = place;
  const subject = `${run} ${graph} ${tensor}`;
  return { run, graph, worker: null, tensor, step: place.step, subject, key: subject };
});

/** Snapshots of the tensor at the current step, or of its computed version: one row per iteration and worker. */
export const snapshots = resource(
  computed(() => {
    if (computedRequest.value !== null) return computedRequest.value;
    const wanted = tensorRequest.value;
    const at = step.value;
    if (wanted === null || at === null) return null;
    return { ...wanted, step: at, key: `${wanted.subject} ${at} ${stepColumns.value.snapshots[stepIndex.value]}` };
  }),
  async (wanted, abort) => {
    const { graph, worker, tensor, step } = wanted;
    const page = await watchForLoss(
      wanted.run,
      api().snapshots(wanted.run, { graph, worker, tensor, step, limit: 1000, samples: true }, abort),
    );
    return { step, rows: page.rows };
  },
);

/** Iterations of the tensor at the current step, ascending. */
export const visits = computed<number[]>(() => visitsOf(snapshots.data.value?.rows ?? []));

/** The current snapshot: of the chosen iteration (see `snapshotAt`), of the latest worker that has it. */
export const snapshot = computed<Snapshot | null>(() => {
  const found = snapshots.data.value;
  if (!found || found.step !== (computedPlace.value?.step ?? step.value)) return null;
  return snapshotAt(found.rows, chosenVisit.value);
});

export const history = resource(
  computed(() => {
    const wanted = tensorRequest.value;
    const [steps, visit] = [serverSteps.value, chosenVisit.value];
    return wanted && { ...wanted, steps, visit, key: `${wanted.key} ${steps} ${visit}` };
  }),
  ({ run, graph, worker, tensor, steps, visit }, abort) => api().history(run, tensor, { graph, worker, steps, visit }, abort),
);

/** The server thins out more steps than this evenly. */
const MOST_HISTOGRAMS = 200;

type TensorRequest = NonNullable<typeof tensorRequest.value>;

function histogramsOf(wanted: TensorRequest, scale: 'symlog' | 'linear') {
  const [steps, visit] = [serverSteps.value, chosenVisit.value];
  return { ...wanted, scale, steps, visit, subject: `${wanted.subject} ${scale}`, key: `${wanted.key} ${scale} ${steps} ${visit}` };
}

function loadHistograms(wanted: ReturnType<typeof histogramsOf>, abort: AbortSignal) {
  const { graph, worker, scale, steps, visit } = wanted;
  const query = { graph, worker, scale, steps, visit, merge: 'visits', limit: MOST_HISTOGRAMS };
  return api().histograms(wanted.run, wanted.tensor, query, abort);
}

export const histograms = resource(
  computed(() => {
    const wanted = tensorRequest.value;
    if (wanted === null || panelTab.value !== 'histogram') return null;
    return histogramsOf(wanted, histogramScale.value);
  }),
  loadHistograms,
);

/** Histograms for quantiles: those of the history, with native buckets. */
export const quantileHistograms = resource(
  computed(() => {
    const wanted = tensorRequest.value;
    if (wanted === null || panelTab.value !== 'history' || historyBand.value !== 'quantiles') return null;
    return histogramsOf(wanted, 'symlog');
  }),
  loadHistograms,
);

/** The histogram of the current step, which may be thinned out over all steps. */
export const stepHistogram = resource(
  computed(() => {
    const wanted = computedRequest.value ?? tensorRequest.value;
    const at = computedRequest.value?.step ?? step.value;
    if (wanted === null || at === null || (panelTab.value !== 'overview' && panelTab.value !== 'histogram')) return null;
    const scale = panelTab.value === 'overview' ? 'symlog' : histogramScale.value;
    // Beside the numbers of one iteration, its histogram.
    const own = visits.value.length > 1 ? (snapshot.value?.visit ?? null) : null;
    const visit = panelTab.value === 'overview' ? own : chosenVisit.value;
    const key = `${wanted.subject} ${scale} ${at} ${visit} ${stepColumns.value.snapshots[stepIndex.value]}`;
    return { ...wanted, scale, at, visit, subject: `${wanted.subject} ${scale}`, key };
  }),
  (wanted, abort) => {
    const { graph, worker, scale, at, visit } = wanted;
    return api().histograms(wanted.run, wanted.tensor, { graph, worker, scale, visit, merge: 'visits', steps: at }, abort);
  },
);

export const gridStatistic = signal<NodeStatistic>('mean');

/** The tensor on all workers. */
export const workerGrid = resource(
  computed(() => {
    const wanted = tensorRequest.value;
    if (wanted === null || panelTab.value !== 'workers') return null;
    const { run, graph, tensor } = wanted;
    const query = { graph, statistic: gridStatistic.value, steps: serverSteps.value };
    const subject = `${run} ${tensor} ${JSON.stringify(query)}`;
    return { run, tensor, query, subject, key: `${subject} ${runRevision.value}` };
  }),
  ({ run, tensor, query }, abort) => api().workerGrid(run, { tensor, ...query }, abort),
);

/** Step under the pointer in a chart, so that charts and the slider can point at the same place. */
export const hoveredStep = signal<number | null>(null);
