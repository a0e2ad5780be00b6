import { computed, signal } from '@preact/signals';
import type { Query } from '../api/provider';
import { type ComparisonAnswer, sortDifferences, type TensorDifference, verdictsByRow } from '../model/comparison';
import type { ColourBy } from '../model/graph';
import { chosenTensor, compareAt, compareSort, otherRun, otherStep, view } from './choices';
import { colourBy, graph } from './graph';
import { api } from './provider';
import { resource } from './resource';
import { runId, runRevision, runs, workerId } from './runs';
import { step } from './steps';

const ASK_AGAIN_MS = 500;

/** Run B: the chosen one, else the newest that is not A. */
export const otherRunId = computed<string | null>(() => {
  const known = runs.value.find((run) => run.id === otherRun.value);
  return (known ?? runs.value.find((run) => run.id !== runId.value))?.id ?? null;
});

export const otherEntry = computed(() => runs.value.find((run) => run.id === otherRunId.value) ?? null);

/** Only equal sides can be compared with themselves; two steps of one run need a step of B. */
export const comparable = computed(
  () => otherRunId.value !== null && (otherRunId.value !== runId.value || (compareAt.value === 'step' && otherStep.value !== null)),
);

const query = computed<Query>(() => {
  const at = compareAt.value === 'step' ? step.value : null;
  const stepB = at === null ? null : (otherStep.value ?? at);
  return { a: runId.value, b: otherRunId.value, step: at, step_b: stepB, worker: workerId.value };
});

const shown = computed(() => view.value === 'compare' || colourBy.value.kind === 'difference');

/** How far the server is; null while it does nothing. */
export const comparisonProgress = signal<ComparisonAnswer['progress'] | null>(null);

/** The two runs compared, fetched while it is on show; asked for until the server's thread is through. */
export const comparison = resource(
  computed(() => {
    if (!shown.value || !comparable.value) return null;
    const subject = JSON.stringify(query.value);
    return { key: `${subject} ${runRevision.value} ${otherEntry.value?.snapshots}`, subject, query: query.value };
  }),
  async (wanted, abort) => {
    for (;;) {
      const answer = await api().comparison({ ...wanted.query, all: true }, abort);
      if (abort.aborted) return answer;
      comparisonProgress.value = answer.working ? answer.progress : null;
      if (!answer.working) {
        if (answer.error) throw new Error(answer.error);
        return answer;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  },
);

/** Where the report of what is on show is downloaded from; null until it is ready. */
export const reportHref = computed<string | null>(() =>
  comparison.data.value?.comparison ? api().comparisonHref({ ...query.value, format: 'html' }) : null,
);

/** Equal tensors are listed only if asked for. */
export const equalShown = signal(false);

export const differences = computed<TensorDifference[]>(() => {
  const rows = comparison.data.value?.rows ?? [];
  return sortDifferences(equalShown.value ? rows : rows.filter((row) => row.verdict !== 'same'), compareSort.value);
});

/** The compared tensor that is selected. */
export const selectedDifference = computed<TensorDifference | null>(
  () => comparison.data.value?.rows.find((row) => row.tensor === chosenTensor.value) ?? null,
);

/** What the graph is coloured by, with the verdicts where it is the difference to run B. */
export const graphColour = computed<ColourBy>(() => {
  const [by, data] = [colourBy.value, graph.data.value];
  if (by.kind !== 'difference' || data === null) return by;
  return { ...by, verdicts: verdictsByRow(data, comparison.data.value?.rows ?? []) };
});

/** The parameters that name a compared tensor's values. */
export function differenceQuery(row: TensorDifference): Query {
  const told = comparison.data.value?.comparison;
  if (!told) return {};
  const { a, b } = told;
  const sides = { a: a.run_id, b: b.run_id, step: a.step, step_b: b.step, worker: a.worker, worker_b: b.worker };
  return { ...sides, tensor: row.tensor, other: row.other, graph: row.graph, graph_b: row.other_graph, visit: row.visit };
}
