import { computed, effect, signal } from '@preact/signals';
import { tableQuery, trendOf } from '../model/run/tensor_table';
import { conditionError } from '../model/search/condition';
import { tableFilter, tableRows, tableSort, view } from './choices';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, runRevision, workerId } from './runs';
import { PAGE, SnapshotPages } from './snapshot_pages';
import { serverSteps, step, stepColumns, stepIndex } from './steps';

/** What is wrong with the condition as far as it is typed. */
export const whereError = computed(() => conditionError(tableFilter.value.where));

/** The last condition that could be read: half a condition filters nothing anew. */
const soundWhere = signal('');
effect(() => {
  if (whereError.value === null) soundWhere.value = tableFilter.value.where;
});

/** The list of tensors on show: of the step on show, or of all steps that are looked at. Asked for while its view is. */
const request = computed(() => {
  const [run, graph, at] = [runId.value, graphId.value, step.value];
  if (view.value !== 'table' || run === null || graph === null || at === null) return null;
  const all = tableRows.value === 'all';
  const query = {
    ...tableQuery({ ...tableFilter.value, where: soundWhere.value }, tableSort.value),
    graph,
    worker: workerId.value,
    step: all ? serverSteps.value : at,
    trend: trendOf(tableSort.value),
    samples: true,
  };
  // A list of one step changes only while that step grows.
  const grown = all ? runRevision.value : stepColumns.value.snapshots[stepIndex.value];
  const list = JSON.stringify([run, query]);
  return { key: `${list} ${grown}`, subject: `${run} ${graph} ${tableRows.value}`, run, query, list };
});

let shown: { list: string; pages: SnapshotPages } | null = null;

export const tensorList = resource(request, async ({ run, query, list }, abort) => {
  const first = await api().snapshots(run, { ...query, limit: PAGE, offset: 0 }, abort);
  const before = shown?.list === list ? shown.pages : null;
  return { list, undecided: first.undecided ?? 0, pages: new SnapshotPages(api(), run, query, first.total, first.rows, before) };
});

effect(() => {
  const next = tensorList.data.value;
  if (shown !== next) shown?.pages.dispose();
  shown = next;
});
