/** Loss, metrics and learning rate of the run on show. */

import { computed } from '@preact/signals';
import { lossLine } from '../model/charts/loss_line';
import { api } from './provider';
import { resource } from './resource';
import { runEntry, runId, runRevision } from './runs';
import { stepColumns } from './steps';

const logs = resource(
  computed(() => {
    const id = runId.value;
    if (id === null || runEntry.value === null) return null;
    return { key: `${id} ${runRevision.value}`, subject: id, id };
  }),
  ({ id }, abort) => api().logs(id, abort),
);

/** The curves above the steps; null where the run has no logs. */
export const lossCurves = computed(() => {
  const found = logs.data.value;
  return found === null ? null : lossLine(found, stepColumns.value.step);
});
