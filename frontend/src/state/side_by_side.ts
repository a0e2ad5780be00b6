import { computed } from '@preact/signals';
import { snapshotAt, visitsOf } from '../model/run/snapshot_choice';
import type { Histograms, Snapshot } from '../model/wire/answers';
import { chosenVisit, panelTab, pins } from './choices';
import { comparedTensors } from './pins';
import { panelOpen } from './preferences';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, workerId } from './runs';
import { step, stepColumns, stepIndex } from './steps';
import { panelMaximised } from './ui';

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
