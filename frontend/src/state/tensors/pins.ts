/** Pinned tensors: their histories compared, and the tensors side by side. */

import { computed } from '@preact/signals';
import { type ComparedHistory, hasSeveralVisits, shortNames } from '../../model/charts/compared_histories';
import { historySeries } from '../../model/charts/history_series';
import { MOST_PINS } from '../../model/run/deep_link';
import { snapshotAt, visitsOf } from '../../model/run/step_list';
import type { Histograms, Snapshot } from '../../model/wire/answers';
import { chosenTensor, chosenVisit, panelTab, pins } from '../choices';
import { historyView, panelOpen } from '../preferences';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { serverSteps, step, stepColumns, stepIndex } from '../steps';
import { panelMaximised } from '../ui';

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

/** Whether the enlarged panel shows the pinned tensors and the selected one in columns. */
export const sideBySide = computed(() => pins.value.length > 0 && panelMaximised.value && panelTab.value === 'overview');

/** The statistic whose course over the steps each column shows. */
export const TREND = 'mean';

/** One tensor at the step on show; nulls where it was not captured. */
export interface PinnedColumn {
  readonly snapshot: Snapshot | null;
  /** How many visits there are at the step. */
  readonly visits: number;
  readonly histogram: Histograms | null;
}

const request = computed(() => {
  const [run, graph, at] = [runId.value, graphId.value, step.value];
  if (run === null || graph === null || at === null || !panelOpen.value || !sideBySide.value) return null;
  const [tensors, worker, visit] = [comparedTensors.value, workerId.value, chosenVisit.value];
  const subject = `${run} ${graph} ${worker} ${at}`;
  const key = `${subject} ${visit} ${stepColumns.value.snapshots[stepIndex.value]} ${JSON.stringify(tensors)}`;
  return { key, subject, run, graph, worker, at, visit, tensors };
});

type ColumnsRequest = NonNullable<typeof request.value>;

async function load({ run, graph, worker, at, visit, tensors }: ColumnsRequest, abort: AbortSignal): Promise<Map<string, PinnedColumn>> {
  // One that this graph does not have must not take the others with it.
  const orNull = <T>(answer: Promise<T>): Promise<T | null> =>
    answer.catch((error) => {
      if (abort.aborted) throw error;
      return null;
    });
  const column = async (tensor: string): Promise<[string, PinnedColumn]> => {
    const histogramOf = (one: number | null) =>
      orNull(api().histograms(run, tensor, { graph, worker, scale: 'symlog', visit: one, merge: 'visits', steps: at }, abort));
    const [page, whole] = await Promise.all([
      orNull(api().snapshots(run, { graph, worker, tensor, step: at, limit: 1000, samples: true, trend: TREND }, abort)),
      histogramOf(null),
    ]);
    const rows = page?.rows ?? [];
    const [snapshot, visits] = [snapshotAt(rows, visit), visitsOf(rows).length];
    // Beside the numbers of one visit, its own.
    return [tensor, { snapshot, visits, histogram: snapshot && visits > 1 ? await histogramOf(snapshot.visit) : whole }];
  };
  return new Map(await Promise.all(tensors.map(column)));
}

const loaded = resource(request, load);

/** What is known of each tensor by now; stays on show while another pin is fetched. */
export const pinnedColumns = computed<ReadonlyMap<string, PinnedColumn>>(() => loaded.data.value ?? new Map());
