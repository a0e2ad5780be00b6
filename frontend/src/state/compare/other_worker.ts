import { batch, computed } from '@preact/signals';
import type { WorkerEntry } from '../../model/wire/answers';
import { byRank } from '../../model/wire/names';
import { chosenWorker, otherRun, otherWorker } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { runDetail, runId, workerId } from '../runs';
import { compareShown, otherEntry } from './manual_matches';

/** Details of run B if it is another run: its workers. */
const otherDetail = resource(
  computed(() => {
    const entry = otherEntry.value;
    if (!compareShown.value || entry === null || entry.id === runId.value) return null;
    return { key: `${entry.id} ${entry.snapshots} ${entry.news}`, subject: entry.id, id: entry.id };
  }),
  ({ id }, abort) => api().run(id, null, abort),
);

/** The workers of run B; null while unknown. */
const known = computed<readonly WorkerEntry[] | null>(() => {
  const detail = otherEntry.value?.id === runId.value ? runDetail.value : otherDetail.data.value;
  return detail?.workers ?? null;
});

export const otherWorkers = computed<readonly WorkerEntry[]>(() => known.value ?? []);

/** Whether it is still unknown if run B has the chosen worker. */
export const isOtherWorkerSought = computed(
  () => otherWorker.value !== null && otherEntry.value !== null && known.value === null && otherDetail.error.value === null,
);

/** The worker chosen for B, if run B does not have it. */
export const otherWorkerMissing = computed<string | null>(() =>
  known.value !== null && !known.value.some((worker) => worker.id === otherWorker.value) ? otherWorker.value : null,
);

/** The worker chosen for the page, if the current run does not have it: other views show all workers instead. */
export const ownWorkerMissing = computed<string | null>(() =>
  runDetail.value !== null && workerId.value === null ? chosenWorker.value : null,
);

/** Compares the current worker (or the first by rank) of the current run with another one. */
export function compareTwoWorkers(): void {
  const ids = byRank(runDetail.value?.workers ?? []).map((worker) => worker.id);
  const a = workerId.value ?? ids[0] ?? null;
  batch(() => {
    chosenWorker.value = a;
    otherRun.value = runId.value;
    otherWorker.value = ids.find((id) => id !== a) ?? null;
  });
}
