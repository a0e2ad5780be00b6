import { computed, signal } from '@preact/signals';
import { raisedOf, unseenOf } from '../../model/run/nothing_captured';
import { triggersOf, watchesOf } from '../../model/wire/events';
import { sampleKind, sampleSearch, view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { runDetail, runId } from '../runs';
import { selectedNode } from '../selection';
import { step } from '../steps';

/** Events of the run. */
export const triggers = computed(() => triggersOf(runDetail.value?.events ?? []));
export const watchChanges = computed(() => watchesOf(runDetail.value?.events ?? []));

export const unseen = computed(() => unseenOf(runDetail.value?.events ?? []));
export const raised = computed(() => raisedOf(runDetail.value?.events ?? []));

/** Triggers that fired at the current step. */
export const triggersHere = computed(() => triggers.value.filter((trigger) => trigger.step === step.value));

/** Number of steps with recorded samples. */
export const batchSteps = computed(() => runDetail.value?.batches.count ?? 0);

/** The samples of the current step; requested while visible. */
export const batch = resource(
  computed(() => {
    const [run, at] = [runId.value, step.value];
    const shown = view.value === 'events' || selectedNode.value === null;
    if (run === null || at === null || batchSteps.value === 0 || !shown) return null;
    return { key: `${run} ${at} ${batchSteps.value}`, subject: `${run} ${at}`, run, at };
  }),
  ({ run, at }, abort) => api().batches(run, at, abort),
);

const search = computed(() => {
  if (runId.value === null || batchSteps.value === 0 || view.value !== 'events') return null;
  return { run: runId.value, of: sampleKind.value, part: sampleSearch.value, grown: batchSteps.value };
});

/** File names or ids that match the search. */
export const samplesFound = resource(
  computed(() => {
    const wanted = search.value;
    return wanted && { ...wanted, key: JSON.stringify(wanted), subject: `${wanted.run} ${wanted.of}` };
  }),
  ({ run, of, part }, abort) => api().samples(run, of, part, abort),
);

/** The chosen match; by default the first, if it is an exact or the only match. */
export const chosenSample = signal<string | null>(null);

export const shownSample = computed(() => {
  const rows = samplesFound.data.value?.rows ?? [];
  const chosen = rows.find((row) => row.text === chosenSample.value) ?? rows.find((row) => row.text === sampleSearch.value);
  return (chosen ?? (rows.length === 1 ? rows[0] : undefined))?.text ?? null;
});

/** The steps that used it. */
export const fedSteps = resource(
  computed(() => {
    const [wanted, text] = [search.value, shownSample.value];
    if (wanted === null || text === null) return null;
    const subject = `${wanted.run} ${wanted.of} ${text}`;
    return { ...wanted, text, subject, key: `${subject} ${wanted.grown}` };
  }),
  ({ run, of, text }, abort) => api().stepsFedBy(run, of, text, abort),
);
