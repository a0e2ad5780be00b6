import { batch, computed, signal } from '@preact/signals';
import { rowOf } from '../../model/wire/graph';
import { cellOf, cellOfNode, FINE_CELL, rowOfPath, type TimelineRow } from '../../model/wire/timeline';
import { rangeOf, valueScale } from '../../model/wire/value_scale';
import { colourBy, graph } from '../graph/graph';
import { chosenScope, folded, timelineScope, unfolded, view } from '../page/choices';
import { report } from '../problems/findings';
import { nonfiniteCount, problems, wrongProblems } from '../problems/problems';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, nanUncounted, runId, runRevision, workerId } from '../runs';
import { goTo, selectedNode } from '../selection';
import { serverSteps } from '../steps';

/** Whether health was chosen on the timeline, though all is finite. */
export const healthChosen = signal(false);

/** What a cell shows: the statistic that colours the graph, or its health; where all is finite that would be one grey wall. */
export const timelineStatistic = computed(() => {
  const { kind, statistic } = colourBy.value;
  if (kind === 'statistic') return statistic ?? 'abs_max';
  const healthy = problems.data.value !== null && nonfiniteCount.value === 0 && !nanUncounted.value;
  return healthy && kind === 'health' && !healthChosen.value ? 'abs_max' : null;
});

/** The timeline of the current graph, over the steps that are looked at; fetched only while it is shown. */
export const timeline = resource(
  computed(() => {
    if (view.value !== 'timeline' || runId.value === null || graphId.value === null) return null;
    const [scope, statistic] = [timelineScope.value, timelineStatistic.value ?? 'nan_share'];
    const [opened, closed] = [unfolded.value.join('\n') || null, folded.value.join('\n') || null];
    const subject = `${runId.value} ${graphId.value} ${workerId.value} ${statistic} ${scope}`;
    const key = `${subject} ${serverSteps.value} ${runRevision.value} ${opened} ${closed}`;
    const query = { statistic, scope: scope || null, worker: workerId.value, steps: serverSteps.value, opened, closed };
    return { key, subject, run: runId.value, graph: graphId.value, query };
  }),
  ({ run, graph, query }, abort) => api().timeline(run, graph, query, abort),
);

/** Origins of NaN or Inf that may be wrong, then where others appeared, in order. */
const badPlaces = computed(() => [
  ...(report.value?.origins ?? []).map(({ graph, node, tensor, step }) => ({ graph, node, tensor, step })),
  ...wrongProblems.value.map(({ graph, node, tensor, first_step }) => ({ graph, node, tensor, step: first_step })),
]);

/** The first of them that lies in a cell shown. */
export const firstBad = computed(() => {
  const [data, shown] = [timeline.data.value, graph.data.value];
  if (data === null || shown === null) return null;
  for (const place of badPlaces.value) {
    if (place.graph !== shown.id) continue;
    const cell = cellOfNode(data, shown.paths.at(rowOf(shown, place.node)), place.step);
    const health = cell && (data.health[cellOf(data, cell.row, cell.column)] ?? 0);
    if (cell && health && health > FINE_CELL) return { ...cell, ...place, health };
  }
  return null;
});

/** The row that holds the selected node or scope; -1 where none does. */
export const selectedRow = computed(() => {
  const [data, shown, node] = [timeline.data.value, graph.data.value, selectedNode.value];
  if (data === null || shown === null) return -1;
  const row = node === null ? -1 : rowOf(shown, node);
  const path = row < 0 ? chosenScope.value : shown.paths.at(row);
  return path === null ? -1 : rowOfPath(data, path);
});

/** Opens or closes a row by hand. */
export function toggleRow({ path, open }: TimelineRow): void {
  batch(() => {
    const others = (paths: readonly string[]) => paths.filter((other) => other !== path);
    unfolded.value = open ? others(unfolded.value) : [...others(unfolded.value), path];
    folded.value = open ? [...others(folded.value), path] : others(folded.value);
  });
}

/** Goes to the step and the tensor that a cell shows; nowhere where nothing was captured. */
export function goToCell(row: number, column: number): void {
  const data = timeline.data.value;
  const at = data ? cellOf(data, row, column) : -1;
  if (!data?.tensor.at(at)) return;
  const visit = data.visit[at] as number;
  // The first one needs not be chosen: the cell tells the first that is bad.
  goTo({ tensor: data.tensor.at(at), step: data.step[at] as number, ...(visit > 0 && { visit }) });
}

export const timelineScale = computed(() => {
  const [data, statistic] = [timeline.data.value, timelineStatistic.value];
  return data === null || statistic === null ? null : valueScale(statistic, rangeOf(statistic, data.value));
});
