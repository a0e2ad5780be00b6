import { computed } from '@preact/signals';
import { api } from './provider';
import { resource } from './resource';
import { run, runEntry, runId, runRevision } from './runs';

/** Non-finite tensors of the run, in order of appearance; asked for again when the run grows. */
export const problems = resource(
  computed(() => {
    const id = runId.value;
    if (id === null || runEntry.value === null) return null;
    return { key: `${id} ${runRevision.value}`, subject: id, id };
  }),
  ({ id }, abort) => api().problems(id, abort),
);

export const problemCount = computed(() => problems.data.value?.nonfinite.length ?? 0);

/** Sentences about what was lost or cannot be read, apart from the numbers themselves. */
export const notices = computed<string[]>(() => {
  const workers = run.data.value?.workers ?? [];
  const pending = workers.flatMap((worker) => (worker.pending ? [`${worker.id}: ${worker.pending}`] : []));
  const dropped = problems.data.value?.dropped ?? 0;
  const lost = dropped > 0 ? [`${dropped} snapshots were dropped because the writer could not keep up; watch less, or less often.`] : [];
  return [...lost, ...(problems.data.value?.damage ?? []), ...pending];
});
