import { computed } from '@preact/signals';
import { report, shownGroups } from './findings';
import { graph } from './graph';
import { wrongProblems } from './problems';
import { sourceMap } from './source';

/** What the run knows of the nodes of its graph on show, for a search of that graph. */
export const runFacts = computed(() => {
  const shown = graph.data.value;
  const here = (place: { graph: string }) => place.graph === shown?.id;
  const found = shownGroups.value.flatMap(({ findings }) => findings.filter(here));
  const bad = wrongProblems.value
    .filter(here)
    .flatMap(({ node, nan, inf }) => [...(nan > 0 ? [{ rule: 'NaN', node }] : []), ...(inf > 0 ? [{ rule: 'Inf', node }] : [])]);
  const problems = [...found.map(({ rule, node }) => ({ rule, node })), ...bad];
  const births = (report.value?.births ?? []).filter(here).map(({ node }) => node);
  return { graph: shown, problems, births, lines: sourceMap.data.value };
});
