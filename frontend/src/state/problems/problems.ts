/** Non-finite tensors, and sentences about lost data. */

import { computed } from '@preact/signals';
import { formatCount } from '../../lib/text/format';
import { isIntended, originsFirst } from '../../model/run/problem_page';
import type { NonfiniteProblem } from '../../model/wire/answers';
import { graph } from '../graph/graph';
import { sourceMap } from '../graph/source';
import { api } from '../provider';
import { resource } from '../resource';
import { run, runEntry, runId, runRevision } from '../runs';
import { raised, unseen } from './events';
import { nanAnswer, report, shownGroups } from './findings';

/** Non-finite tensors of the run, in order of appearance; reloaded when the run grows. */
export const problems = resource(
  computed(() => {
    const id = runId.value;
    if (id === null || runEntry.value === null) return null;
    return { key: `${id} ${runRevision.value}`, subject: id, id };
  }),
  ({ id }, abort) => api().problems(id, abort),
);

/** Splits off tensors with expected infinities; while the origins of a growing run are being updated, only the named ones. */
const sorted = computed(() => {
  const [found, all] = [report.value, problems.data.value?.nonfinite ?? []];
  const known = found !== null && (found.origins.length > 0 || !nanAnswer.loading.value);
  const named = new Set(found?.demoted.map((origin) => `${origin.graph} ${origin.tensor}`));
  const meant = (problem: NonfiniteProblem) => isIntended(problem, found) && (known || named.has(`${problem.graph} ${problem.tensor}`));
  return {
    wrong: originsFirst(
      all.filter((problem) => !meant(problem)),
      found,
    ),
    intended: all.filter(meant),
  };
});

/** Tensors whose NaN or Inf matter, origins first, then in order of appearance; and those with expected ones. */
export const wrongProblems = computed(() => sorted.value.wrong);
export const intendedProblems = computed(() => sorted.value.intended);

export const problemCount = computed(() => wrongProblems.value.length);
/** Whether it is still unknown which tensors are non-finite, or whether that is expected. */
export const counting = computed(() => problems.data.value === null && problems.loading.value);
export const judging = computed(() => report.value === null && nanAnswer.loading.value);

export const nonfiniteCount = computed(() => problems.data.value?.nonfinite.length ?? 0);

/** Whether a part of the run is unreadable. */
export const damaged = computed(() => (problems.data.value?.damage.length ?? 0) > 0);

/** Snapshots and recordings that were lost. */
export const droppedCount = computed(() => problems.data.value?.dropped ?? 0);

/** Sentences about lost or unreadable data. */
export const notices = computed<string[]>(() => {
  const workers = run.data.value?.workers ?? [];
  const pending = workers.flatMap((worker) => (worker.pending ? [`${worker.id}: ${worker.pending}`] : []));
  const dropped = droppedCount.value;
  const lost =
    dropped > 0
      ? [
          `${formatCount(dropped)} snapshots or recordings were dropped: the disk was full, or the writer could not keep up. Free space, or watch fewer tensors.`,
        ]
      : [];
  return [...raised.value, ...lost, ...(problems.data.value?.damage ?? []), ...pending, ...unseen.value];
});

/** Facts of the run about nodes of the current graph, for searches. */
export const runFacts = computed(() => {
  const shown = graph.data.value;
  const here = (place: { graph: string }) => place.graph === shown?.id;
  const found = shownGroups.value.flatMap(({ findings }) => findings.filter(here));
  const bad = wrongProblems.value
    .filter(here)
    .flatMap(({ node, nan, inf }) => [...(nan > 0 ? [{ rule: 'NaN', node }] : []), ...(inf > 0 ? [{ rule: 'Inf', node }] : [])]);
  const problems = [...found.map(({ rule, node }) => ({ rule, node })), ...bad];
  const origins = (report.value?.origins ?? []).filter(here).map(({ node }) => node);
  return { graph: shown, problems, origins, lines: sourceMap.data.value };
});
