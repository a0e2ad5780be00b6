import { computed, effect } from '@preact/signals';
import { computeLayers } from '../../layout/client';
import { Lru } from '../../lib/lru';
import { LatestRequest } from '../../lib/scheduling';
import { lossLine } from '../../model/charts/loss_line';
import { COLOUR_KINDS, type ColourBy, type GraphData } from '../../model/wire/graph';
import type { StepStatistics } from '../../model/wire/step_statistics';
import { NODE_STATISTICS } from '../../model/wire/value_scale';
import { colour } from '../page/choices';
import { api } from '../provider';
import { prefetchAround, resource } from '../resource';
import { graphId, runDetail, runId, runRevision, workerId } from '../runs';
import { step, stepColumns, stepIndex } from '../steps';

/** The current graph and the statistics of the current step. Graphs never change; statistics change only while a step gains snapshots. */
const graphs = new Lru<string, GraphData>(4);
const overlays = new Lru<string, StepStatistics>(48);

// A graph that is still being written (`-`, of logged tensors) grows with the run, so its size is part of the key.
const graphRequest = computed(() => {
  const entry = runDetail.value?.graphs.find((candidate) => candidate.id === graphId.value);
  if (!entry || runId.value === null) return null;
  const subject = `${runId.value} ${entry.id}`;
  return { key: `${subject} ${entry.nodes} ${entry.edges}`, subject, run: runId.value, graph: entry.id };
});

export const graph = resource(graphRequest, (wanted, abort) => api().graph(wanted.run, wanted.graph, abort), { cache: graphs });

function overlayRequest(offset: number) {
  const index = stepIndex.value + offset;
  const at = stepColumns.value.step[index];
  if (at === undefined || runId.value === null || graphId.value === null) return null;
  const subject = `${runId.value} ${graphId.value} ${workerId.value}`;
  const key = `${subject} ${at} ${stepColumns.value.snapshots[index]}`;
  return { key, subject, run: runId.value, graph: graphId.value, worker: workerId.value, step: at };
}

type OverlayRequest = NonNullable<ReturnType<typeof overlayRequest>>;

const loadOverlay = (wanted: OverlayRequest, abort: AbortSignal) => api().step(wanted.run, wanted.graph, wanted.step, wanted.worker, abort);

export const overlay = resource(
  computed(() => overlayRequest(0)),
  loadOverlay,
  { cache: overlays },
);

/** Bytes to prefetch, some 80 MB: six steps on either side with 50,000 tensors each, since a slower one is waited for. */
const AHEAD_TENSORS = 600_000;
const MOST_AHEAD = 8;

/**
 * Prefetches the steps around the current one; moving on cancels that. Not while the layers of a graph are being found: decoding would
 * take the processor from their worker.
 */
export function prefetchNeighbours(): () => void {
  const latest = new LatestRequest();
  return effect(() => {
    const [shown, data] = [overlay.data.value, graph.data.value];
    if (shown === null || data === null || shown.step !== step.value) return;
    const abort = latest.start();
    const prefetch = () => void prefetchAround(stepsAhead(shown), overlayRequest, overlays, loadOverlay, abort);
    computeLayers(data).then(prefetch, prefetch);
  });
}

/** Number of prefetched steps on either side. */
export function stepsAhead({ count }: StepStatistics): number {
  return Math.min(MOST_AHEAD, Math.max(1, Math.floor(AHEAD_TENSORS / 2 / Math.max(1, count))));
}

export const colourBy = computed<ColourBy>(() => {
  const [kind, name] = colour.value.split(':');
  const known = COLOUR_KINDS.find((candidate) => candidate === kind) ?? 'health';
  const statistic = NODE_STATISTICS.find((candidate) => candidate === name);
  return known === 'statistic' ? { kind: known, statistic: statistic ?? 'abs_max' } : { kind: known };
});

/** Logs of the run, or its graph's captured loss: requested after a step is drawn, because finding the loss of a large graph takes a moment. */
const logs = resource(
  computed(() => {
    const [run, shown] = [runId.value, graphId.value];
    if (run === null || shown === null || overlay.data.value === null) return null;
    const subject = `${run} ${shown}`;
    return { key: `${subject} ${runRevision.value}`, subject, run, graph: shown };
  }),
  (wanted, abort) => api().logs(wanted.run, wanted.graph, abort),
);

/** The curves above the steps; null without a loss. */
export const lossCurves = computed(() => (logs.data.value === null ? null : lossLine(logs.data.value, stepColumns.value.step)));
