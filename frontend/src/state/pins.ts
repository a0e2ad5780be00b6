import { computed, signal } from '@preact/signals';
import { type ComparedHistory, hasSeveralVisits, shortNames } from '../model/charts/history_compare';
import { historySeries } from '../model/charts/history_series';
import { MOST_PINS } from '../model/run/deep_link';
import { chosenTensor, panelTab, pins } from './choices';
import { historyView, panelOpen } from './preferences';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, runRevision, workerId } from './runs';
import { serverSteps } from './steps';

/** Tensors that stay in view while others are looked at, so that their histories can be compared. */

export const isPinned = computed(() => chosenTensor.value !== null && pins.value.includes(chosenTensor.value));

export const pinsFull = computed(() => pins.value.length >= MOST_PINS);

export function togglePin(tensor: string): void {
  if (pins.value.includes(tensor)) {
    pins.value = pins.value.filter((other) => other !== tensor);
    return;
  }
  if (pinsFull.value) return;
  if (pins.value.length === 0 && historyView.value === 'one') historyView.value = 'overlay';
  pins.value = [...pins.value, tensor];
}

/** What is compared: the pinned tensors, and the selected one behind them. */
export const comparedTensors = computed(() => {
  const chosen = chosenTensor.value;
  return chosen === null || pins.value.includes(chosen) ? pins.value : [...pins.value, chosen];
});

export const comparing = computed(() => pins.value.length > 0 && historyView.value !== 'one');

/** Rows of each history; more are thinned evenly by the server. */
const MOST_ROWS = 1000;

const compared = resource(
  computed(() => {
    const [run, graph] = [runId.value, graphId.value];
    if (run === null || graph === null || !panelOpen.value || panelTab.value !== 'history' || !comparing.value) return null;
    const [tensors, steps, worker] = [comparedTensors.value, serverSteps.value, workerId.value];
    const subject = `${run} ${graph} ${worker}`;
    const key = `${subject} ${runRevision.value} ${steps} ${JSON.stringify(tensors)}`;
    return { key, subject, run, graph, worker, steps, tensors };
  }),
  ({ run, graph, worker, steps, tensors }, abort) => {
    const query = { graph, worker, steps, limit: MOST_ROWS };
    // One that this graph does not have must not take the others with it.
    const ask = (tensor: string) =>
      api()
        .history(run, tensor, query, abort)
        .catch((error) => {
          if (abort.aborted) throw error;
          return null;
        });
    return Promise.all(tensors.map(ask));
  },
);

export const comparedHistories = computed<ComparedHistory[]>(() => {
  const found = (compared.data.value ?? []).filter((history) => history !== null);
  const names = shortNames(found.map((history) => history.tensor));
  return found.map((history, i) => ({
    tensor: history.tensor,
    label: names[i] ?? history.tensor,
    several: hasSeveralVisits(history.rows),
    series: historySeries(history.rows),
  }));
});

/** Pinned tensors without a snapshot in the graph on show. */
export const missingPins = computed(() => {
  const found = new Set(comparedHistories.value.map(({ tensor }) => tensor));
  return compared.data.value === null ? [] : comparedTensors.value.filter((tensor) => !found.has(tensor));
});

/** Whose line is pointed at. */
export const hoveredTensor = signal<string | null>(null);
