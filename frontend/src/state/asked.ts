import { computed, signal } from '@preact/signals';
import { type Asked, lostOf } from '../model/asked';
import { chosenGraph, chosenRun, chosenStep, chosenWorker } from './choices';
import { runDetail } from './runs';
import { allSteps, step } from './steps';

/** What the address asked for; null once the message about it was put away. */
export const asked = signal<Asked | null>(null);

/** What the address asked for and is not there, while what is shown in its place has not been left. */
export const lost = computed<string | null>(() => {
  const [wanted, run] = [asked.value, runDetail.value];
  if (wanted === null || run === null || wanted.run !== chosenRun.value) return null;
  const still = {
    graph: wanted.graph === chosenGraph.value ? wanted.graph : null,
    worker: wanted.worker === chosenWorker.value ? wanted.worker : null,
    step: wanted.step === chosenStep.value ? wanted.step : null,
  };
  return lostOf(still, run.graphs, run.workers, allSteps.value.step, step.value);
});
