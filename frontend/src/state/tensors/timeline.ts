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

/** Whether the user chose health on the timeline, although everything is finite. */
export const healthChosen = signal(false);

/** Content of the cells: the statistic that colours the graph, or health; if everything is finite, health would be one grey wall. */
export const timelineStatistic = computed(() => {
  const { kind, statistic } = colourBy.value;
  if (kind === 'statistic') return statistic ?? 'abs_max';
  const healthy = problems.data.value !== null && nonfiniteCount.value === 0 && !nanUncounted.value;
  return healthy && kind === 'health' && !healthChosen.value ? 'abs_max' : null;
});

/** The timeline of the current graph, over the selected steps; only fetched while visible. */
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

/** Origins of NaN or Inf that matter, then first occurrences of others, in order. */
const badPlaces = computed(() => [
  ...(report.value?.origins ?? []).map(({ graph, node, tensor, step }) => ({ graph, node, tensor, step })),
  ...wrongProblems.value.map(({ graph, node, tensor, first_step }) => ({ graph, node, tensor, step: first_step })),
]);

/** The first of them in a visible cell. */
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

/** The row that contains the selected node or scope; -1 if there is none. */
export const selectedRow = computed(() => {
  const [data, shown, node] = [timeline.data.value, graph.data.value, selectedNode.value];
  if (data === null || shown === null) return -1;
  const row = node === null ? -1 : rowOf(shown, node);
  const path = row < 0 ? chosenScope.value : shown.paths.at(row);
  return path === null ? -1 : rowOfPath(data, path);
});

/** Expands or collapses a row. */
export function toggleRow({ path, open }: TimelineRow): void {
  batch(() => {
    const others = (paths: readonly string[]) => paths.filter((other) => other !== path);
    unfolded.value = open ? others(unfolded.value) : [...others(unfolded.value), path];
    folded.value = open ? [...others(folded.value), path] : others(folded.value);
  });
}

/** Goes to the step and the tensor of a cell; does nothing if nothing was captured. */
export function goToCell(row: number, column: number): void {
  const data = timeline.data.value;
  const at = data ? cellOf(data, row, column) : -1;
  if (!data?.tensor.at(at)) return;
  const visit = data.visit[at] as number;
  // The cell's first step is not necessarily bad: the cell has the first bad one.
  goTo({ tensor: data.tensor.at(at), step: data.step[at] as number, ...(visit > 0 && { visit }) });
}

export const timelineScale = computed(() => {
  const [data, statistic] = [timeline.data.value, timelineStatistic.value];
  return data === null || statistic === null ? null : valueScale(statistic, rangeOf(statistic, data.value));
});
