/** Pinned tensors: their histories, and the tensors side by side. A pin may belong to another run, or to a fixed step. */

import { batch, computed } from '@preact/signals';
import { type ComparedHistory, hasSeveralVisits } from '../../model/charts/compared_histories';
import { historySeries } from '../../model/charts/history_series';
import { MOST_PINS } from '../../model/run/deep_link';
import { type Pin, parsePin, pinHere, pinLabels, pinText } from '../../model/run/pins';
import { snapshotAt, visitsOf } from '../../model/run/step_list';
import { defaultMapping } from '../../model/value/dims';
import { planSlice, Slice } from '../../model/value/slice';
import type { Histograms, Snapshot } from '../../model/wire/answers';
import { chosenTensor, chosenVisit, panelTab, pins } from '../page/choices';
import { historyView, panelOpen } from '../page/preferences';
import { maximisePanel, panelMaximised } from '../page/ui';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, nameOfRun, runDetail, runId, runRevision, workerId } from '../runs';
import { selectTensor } from '../selection';
import { serverSteps, step, stepColumns, stepIndex } from '../steps';

/** Pinned tensors stay visible while others are viewed, so that their histories can be compared. */
export const pinned = computed<readonly Pin[]>(() => pins.value.map(parsePin));

export const isPinned = computed(() => chosenTensor.value !== null && pins.value.includes(pinText(pinHere(chosenTensor.value))));

export const pinsFull = computed(() => pins.value.length >= MOST_PINS);

export function togglePin(pin: Pin): void {
  const text = pinText(pin);
  if (pins.value.includes(text)) pins.value = pins.value.filter((other) => other !== text);
  else if (!pinsFull.value) {
    if (pins.value.length === 0 && historyView.value === 'one') historyView.value = 'overlay';
    pins.value = [...pins.value, text];
  }
}

/** Pins a tensor at a run or a step, and shows it beside the selected one. */
export function compareWith(pin: Pin): void {
  batch(() => {
    if (!pins.value.includes(pinText(pin))) togglePin(pin);
    showSideBySide();
  });
}

/** The numbers of all pinned ones at the current step, in the enlarged panel. */
export function showSideBySide(): void {
  if (chosenTensor.value === null) selectTensor(pinned.value[0]?.tensor ?? null);
  panelTab.value = 'overview';
  maximisePanel(true);
}

/** The compared tensors: the pinned ones, then the selected one. */
export const comparedPins = computed<readonly Pin[]>(() =>
  chosenTensor.value === null || isPinned.value ? pinned.value : [...pinned.value, pinHere(chosenTensor.value)],
);

/** Their names, in the same order. */
export const comparedLabels = computed(() => pinLabels(comparedPins.value, nameOfRun));

export const comparing = computed(() => pins.value.length > 0 && historyView.value !== 'one');

/** Rows of each history; the server thins out more. */
const MOST_ROWS = 1000;

/** Run, graph and worker for the requests of a pin. */
interface PinPlace {
  readonly run: string;
  readonly graph: string | null;
  readonly worker: string | null;
}

const graphsOfRuns = new Map<string, Promise<string | null>>();

/** In another run, the graph of the same name is used, else the one with the most snapshots. */
async function placeOf(pin: Pin, here: PinPlace, name: string | undefined): Promise<PinPlace> {
  if (pin.run === null || pin.run === here.run) return here;
  const key = `${pin.run} ${name}`;
  const known =
    graphsOfRuns.get(key) ??
    api()
      .graphs(pin.run)
      .then((graphs) => (graphs.find((graph) => graph.name === name && graph.snapshots > 0) ?? graphs[0])?.id ?? null);
  graphsOfRuns.set(key, known);
  try {
    return { run: pin.run, graph: await known, worker: null };
  } catch {
    graphsOfRuns.delete(key);
    return { run: pin.run, graph: null, worker: null };
  }
}

const graphName = computed(() => runDetail.value?.graphs.find(({ id }) => id === graphId.value)?.name);

/** A history covers all steps, so pins of several steps of a tensor share one. */
const historyPins = computed<readonly Pin[]>(() => {
  const all = new Map(comparedPins.value.map((pin) => [pinText({ ...pin, step: null }), { ...pin, step: null }]));
  return [...all.values()];
});

const compared = resource(
  computed(() => {
    const [run, graph] = [runId.value, graphId.value];
    if (run === null || graph === null || !panelOpen.value || panelTab.value !== 'history' || !comparing.value) return null;
    const [all, steps, worker, name] = [historyPins.value, serverSteps.value, workerId.value, graphName.value];
    const subject = `${run} ${graph} ${worker}`;
    const key = `${subject} ${runRevision.value} ${steps} ${JSON.stringify(all)}`;
    return { key, subject, here: { run, graph, worker }, name, steps, all };
  }),
  ({ here, name, steps, all }, abort) => {
    // A failed pin must not affect the others.
    const ask = async (pin: Pin) => {
      const { run, graph, worker } = await placeOf(pin, here, name);
      const answer = api().history(run, pin.tensor, { graph, worker, steps: pin.run === null ? steps : null, limit: MOST_ROWS }, abort);
      return answer
        .then((history) => ({ pin, history }))
        .catch((error) => {
          if (abort.aborted) throw error;
          return null;
        });
    };
    return Promise.all(all.map(ask));
  },
);

export const comparedHistories = computed<ComparedHistory[]>(() => {
  const found = (compared.data.value ?? []).filter((one) => one !== null);
  const labels = pinLabels(
    found.map(({ pin }) => pin),
    nameOfRun,
  );
  return found.map(({ pin, history }, i) => ({
    tensor: history.tensor,
    pin,
    label: labels[i] ?? history.tensor,
    several: hasSeveralVisits(history.rows),
    series: historySeries(history.rows),
  }));
});

/** Names of pinned tensors without a snapshot in their graph. */
export const missingPins = computed(() => {
  const found = new Set(comparedHistories.value.map(({ pin }) => pinText(pin)));
  const labels = pinLabels(historyPins.value, nameOfRun);
  if (compared.data.value === null) return [];
  return historyPins.value.flatMap((pin, i) => (found.has(pinText(pin)) ? [] : [pin.run === null ? pin.tensor : (labels[i] ?? '')]));
});

/** Whether the enlarged panel shows the pinned tensors and the selected one in columns. */
export const sideBySide = computed(() => pins.value.length > 0 && panelMaximised.value && panelTab.value === 'overview');

/** The statistic whose history each column shows. */
export const TREND = 'mean';

/** A tensor at the current step, or at the pin's; nulls if not captured. */
export interface PinnedColumn {
  readonly snapshot: Snapshot | null;
  /** Number of iterations at the step. */
  readonly visits: number;
  readonly histogram: Histograms | null;
  /** Its value as a matrix, the other dimensions at 0; null if it was not stored, or has no matrix. */
  readonly slice: Slice | null;
}

const request = computed(() => {
  const [run, graph, at] = [runId.value, graphId.value, step.value];
  if (run === null || graph === null || at === null || !panelOpen.value || !sideBySide.value) return null;
  const [all, worker, visit, name] = [comparedPins.value, workerId.value, chosenVisit.value, graphName.value];
  const subject = `${run} ${graph} ${worker} ${at}`;
  const key = `${subject} ${visit} ${stepColumns.value.snapshots[stepIndex.value]} ${JSON.stringify(all)}`;
  return { key, subject, here: { run, graph, worker }, name, at, visit, all };
});

type ColumnsRequest = NonNullable<typeof request.value>;

async function load({ here, name, at, visit, all }: ColumnsRequest, abort: AbortSignal): Promise<Map<string, PinnedColumn>> {
  // A failed pin must not affect the others.
  const orNull = <T>(answer: Promise<T>): Promise<T | null> =>
    answer.catch((error) => {
      if (abort.aborted) throw error;
      return null;
    });
  const column = async (pin: Pin): Promise<[string, PinnedColumn]> => {
    const { run, graph, worker } = await placeOf(pin, here, name);
    const steps = pin.step ?? at;
    const histogramOf = (one: number | null) =>
      orNull(api().histograms(run, pin.tensor, { graph, worker, scale: 'symlog', visit: one, merge: 'visits', steps }, abort));
    const [page, whole] = await Promise.all([
      orNull(api().snapshots(run, { graph, worker, tensor: pin.tensor, step: steps, limit: 1000, samples: true, trend: TREND }, abort)),
      histogramOf(null),
    ]);
    const rows = page?.rows ?? [];
    const [snapshot, visits] = [snapshotAt(rows, visit), visitsOf(rows).length];
    // Beside the numbers of one iteration, its histogram.
    const histogram = snapshot && visits > 1 ? await histogramOf(snapshot.visit) : whole;
    const slice = snapshot && (await orNull(matrixOf(snapshot, { run, graph, worker: worker === null ? null : snapshot.worker }, abort)));
    return [pinText(pin), { snapshot, visits, histogram, slice }];
  };
  return new Map(await Promise.all(all.map(column)));
}

/** The value of a snapshot in the default layout of a heatmap. */
async function matrixOf(row: Snapshot, place: PinPlace, abort: AbortSignal): Promise<Slice | null> {
  if (!row.kept || row.sample || row.shape.length < 2 || row.size === 0 || row.dtype === 'string') return null;
  const plan = planSlice(row.shape, defaultMapping(row.shape, 'plane'), 'plane');
  const key = { ...place, tensor: row.tensor, step: row.step, visit: row.visit };
  return new Slice(await api().value(key, plan.selection, abort), plan);
}

const loaded = resource(request, load);

/** Loaded data of each pin, by its text; stays visible while another pin is loading. */
export const pinnedColumns = computed<ReadonlyMap<string, PinnedColumn>>(() => loaded.data.value ?? new Map());
