import { computed, signal } from '@preact/signals';
import { Lru } from '../../lib/lru';
import type { GraphData } from '../../model/wire/graph';
import type { NodeTrend, NodeTrends } from '../../model/wire/node_trends';
import { colourBy, graph as graphData, overlay } from '../graph/graph';
import { view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { serverSteps, step, stepColumns } from '../steps';

/** Rows of the visible nodes that are large enough for a trend; reported by the graph's pane. */
export const trendNodes = signal<{ graph: GraphData; rows: readonly number[] } | null>(null);

/** Health has no height: its trend shows max |x|. */
const statistic = computed(() => (colourBy.value.kind === 'statistic' ? (colourBy.value.statistic ?? 'abs_max') : 'abs_max'));

/** More points than a line has pixels at most zooms. */
const PLACES = 96;

/** Null: the node was not captured. */
const known = new Lru<string, { trend: NodeTrend | null }>(4096);

const loaded = resource(
  computed(() => {
    const [run, graph] = [runId.value, graphId.value];
    // Rows of the previous graph mean other nodes, or none.
    const nodes = graphData.data.value?.names === trendNodes.value?.graph.names ? (trendNodes.value?.rows ?? []) : [];
    if (view.value !== 'graph' || run === null || graph === null || nodes.length === 0 || stepColumns.value.step.length < 2) return null;
    const query = { statistic: statistic.value, places: PLACES, worker: workerId.value, steps: serverSteps.value };
    const subject = `${run} ${graph} ${JSON.stringify(query)}`;
    const about = `${subject} ${runRevision.value}`;
    return { key: `${about} ${nodes.join()}`, subject, about, run, graph, nodes, query };
  }),
  async ({ about, run, graph, nodes, query }, abort) => {
    const missing = nodes.filter((node) => known.get(`${about} ${node}`) === undefined);
    if (missing.length > 0) {
      const found = await api().nodeTrends(run, graph, { ...query, nodes: missing.join() }, abort);
      for (const node of missing) known.set(`${about} ${node}`, { trend: found.get(node) ?? null });
    }
    const trends = new Map<number, NodeTrend>();
    for (const node of nodes) {
      const trend = known.get(`${about} ${node}`)?.trend;
      if (trend) trends.set(node, trend);
    }
    return trends;
  },
);

const NONE: ReadonlyMap<number, NodeTrend> = new Map();

/** Data of the trends in nodes; null without lines, as in a run of one step. */
export const nodeTrends = computed<NodeTrends | null>(() => {
  const { step: steps } = stepColumns.value;
  if (view.value !== 'graph' || step.value === null || steps.length < 2) return null;
  return {
    statistic: statistic.value,
    first: steps[0]!,
    last: steps[steps.length - 1]!,
    // The colouring statistic, until that of the next step is loaded.
    step: overlay.data.value?.step ?? step.value,
    ofNode: loaded.data.value ?? NONE,
  };
});
