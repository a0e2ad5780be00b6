import { computed, signal } from '@preact/signals';
import { indexOfStep, latestWhole, moveStep, nearestStep, within } from '../model/run/step_list';
import type { StepColumns } from '../model/wire/answers';
import { chosenStep, stepRange } from './page/choices';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runDetail, runEntry, runRevision } from './runs';

const NO_STEPS: StepColumns = { step: [], time: [], snapshots: [], nan: [], inf: [] };

/** Steps of the current graph, if the run has others: the graph has no data at other steps. */
export const graphSteps = resource(
  computed(() => {
    const [run, graph] = [runDetail.value, graphId.value];
    if (run === null || graph === null || run.graphs.length < 2) return null;
    const subject = `${run.id} ${graph}`;
    return { key: `${subject} ${runRevision.value}`, subject, run: run.id, graph };
  }),
  async ({ run, graph }, abort) => (await api().run(run, graph, abort)).steps,
);

/** All steps of the current graph. */
export const allSteps = computed<StepColumns>(() => {
  const run = runDetail.value;
  if (run === null) return NO_STEPS;
  return run.graphs.length < 2 ? run.steps : (graphSteps.data.value ?? NO_STEPS);
});

/** The active range: null if none is chosen, or it contains no step of the graph. */
export const shownRange = computed(() => (stepRange.value !== null && within(allSteps.value, stepRange.value) ? stepRange.value : null));

/** The range in the server's notation, half open; null for all. */
export const serverSteps = computed(() => (shownRange.value ? `${shownRange.value.first}:${shownRange.value.last + 1}` : null));

/** The visible steps: those of the current graph in the chosen range. */
export const stepColumns = computed<StepColumns>(() => {
  const range = shownRange.value;
  return (range && within(allSteps.value, range)) ?? allSteps.value;
});

/** Whether more steps may come; a closed run has no latest step to follow. */
export const followable = computed(() => runEntry.value !== null && (runEntry.value.live || !runEntry.value.closed));

/** Whether the page follows the latest step: no step is chosen. */
export const following = computed(() => followable.value && chosenStep.value === null);

/** The current step: the chosen one (or the nearest), else the latest complete one. */
export const step = computed<number | null>(() => {
  const steps = stepColumns.value.step;
  if (steps.length === 0) return null;
  const wanted = chosenStep.value;
  if (wanted !== null) return nearestStep(steps, wanted);
  return steps[latestWhole(stepColumns.value, runEntry.value?.live === true)] ?? null;
});

export const stepIndex = computed(() => indexOfStep(stepColumns.value.step, step.value));

export function goToStep(wanted: number | null): void {
  if (wanted !== null) widen(wanted);
  chosenStep.value = wanted;
}

export function stepBy(offset: number): void {
  const next = moveStep(stepColumns.value.step, step.value, offset);
  if (next !== null) chosenStep.value = next;
}

/** In a closed run, goes to the last step. */
export function toggleFollowing(): void {
  chosenStep.value = following.value ? step.value : null;
}

/** A step outside the range clears the range, because it was requested explicitly. */
function widen(wanted: number): void {
  const range = stepRange.peek();
  if (range !== null && (wanted < range.first || wanted > range.last)) stepRange.value = null;
}

export const playing = signal(false);
