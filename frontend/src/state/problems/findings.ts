/** Problems of a run: findings of rules, the origin of its NaN, and variables that do not train. */

import { batch, computed, type Signal, signal } from '@preact/signals';
import { ApiError } from '../../api/provider';
import { groupFindings, mutes, withoutOrigins } from '../../model/run/problem_page';
import { type Analysed, type Findings, hasNews, type Progress, type Severity } from '../../model/wire/findings';
import { rowOf } from '../../model/wire/graph';
import { graph } from '../graph/graph';
import { chosenPart, view } from '../page/choices';
import { mutedFindings } from '../page/preferences';
import { api } from '../provider';
import { resource } from '../resource';
import { runEntry, runId, runRevision } from '../runs';
import { goTo } from '../selection';

const ASK_AGAIN_MS = 700;

const analysedRun = computed(() => {
  const [id, entry] = [runId.value, runEntry.value];
  // There is nothing to analyse in a run that the server has not read, and reading has priority.
  if (id === null || entry === null || entry.snapshots + entry.graphs === 0) return null;
  return { key: `${id} ${runRevision.value}`, subject: id, id };
});

/** Progress of the server; null when idle. */
export const rulesProgress = signal<Progress | null>(null);
export const nanProgress = signal<Progress | null>(null);

/** Polls until the server has analysed the run. */
async function settled<T extends Analysed>(
  ask: () => Promise<T>,
  abort: AbortSignal,
  progress: Signal<Progress | null>,
  peek?: (answer: T) => void,
): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (abort.aborted) return answer;
    progress.value = answer.working ? answer.progress : null;
    if (!answer.working) {
      if (answer.error) throw new ApiError(0, answer.error, answer.hint ?? '');
      return answer;
    }
    peek?.(answer);
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

/** Findings of the rules, worst first. */
export const findings = resource(analysedRun, ({ id }, abort, show: (part: Findings) => void) =>
  // A drift between workers is found long before the other rules are checked.
  settled(
    () => api().findings(id, abort),
    abort,
    rulesProgress,
    (answer) => answer.findings.length > 0 && show(answer),
  ),
);

/** Origins of NaN and infinities, at the first step that has one. */
export const nanAnswer = resource(analysedRun, ({ id }, abort) => settled(() => api().nan(id, abort), abort, nanProgress));

export const report = computed(() => nanAnswer.data.value?.report ?? null);

/** Unreadable data of the run, which these analyses lack: sentences. */
export const missing = computed<readonly string[]>(() => [
  ...new Set([nanAnswer.data.value, findings.data.value].flatMap((answer) => answer?.damage ?? [])),
]);

/** The file of rule settings may have changed: reload the findings when they are shown again. */
export function readRulesAgain(): void {
  if (findings.data.peek()?.rules_file && !findings.loading.peek()) findings.reload();
}

const entries = computed<readonly string[]>(() => mutedFindings.value[runId.value ?? ''] ?? []);

const listed = computed(() => withoutOrigins(findings.data.value?.findings ?? [], report.value));

/** Visible and muted findings, by rule. */
export const shownGroups = computed(() => groupFindings(listed.value.filter((finding) => !mutes(entries.value, finding))));
export const mutedGroups = computed(() => groupFindings(listed.value.filter((finding) => mutes(entries.value, finding))));

/** How many findings of each severity there are. */
export const findingCounts = computed<Readonly<Record<Severity, number>>>(() => {
  const counts = { high: 0, medium: 0, low: 0 };
  for (const { severity, findings: found } of shownGroups.value) counts[severity] += found.length;
  return counts;
});

/** Findings that something is wrong, not only unusual. */
export const severeCount = computed(() => findingCounts.value.high);

export const isMutedHere = (rule: string): boolean => entries.value.includes(rule);

/** Toggles whether a rule is muted in the current run, in this browser. */
export function toggleMute(rule: string): void {
  const id = runId.value;
  if (id === null) return;
  const mine = entries.value.includes(rule) ? entries.value.filter((entry) => entry !== rule) : [...entries.value, rule];
  const { [id]: _, ...others } = mutedFindings.value;
  mutedFindings.value = mine.length > 0 ? { ...others, [id]: mine } : others;
}

export const ledgerProgress = signal<Progress | null>(null);

/** Zero gradients and lost updates; computed only while the problems page is visible. */
export const ledger = resource(
  computed(() => (view.value === 'problems' ? analysedRun.value : null)),
  ({ id }, abort) => settled(() => api().ledger(id, abort), abort, ledgerProgress),
);

/** Variables with zero gradients or lost updates, the worst first; and the number of others. */
export const ledgerNews = computed(() => (ledger.data.value?.entries ?? []).filter(hasNews));
export const ledgerHealthy = computed(() => (ledger.data.value?.entries.length ?? 0) - ledgerNews.value.length);

/** Whether the graph shows the path of NaN from its origin to the loss. */
export const chainShown = signal(false);

const NO_ROWS: readonly number[] = [];

/** Rows of the path's nodes in the current graph, from origin to loss. */
export const chainRows = computed<readonly number[]>(() => {
  const [found, drawn] = [report.value, graph.data.value];
  if (!chainShown.value || found === null || drawn === null) return NO_ROWS;
  return found.chain
    .filter((link) => link.graph === drawn.id)
    .map((link) => rowOf(drawn, link.node))
    .filter((row) => row >= 0);
});

/** Goes to the origin on the graph, and highlights the path. */
export function showChain(): void {
  const found = report.value;
  const origin = found?.origins[0];
  if (!found || !origin) return;
  batch(() => {
    chainShown.value = true;
    view.value = 'graph';
    // The path crosses several parts of a step.
    chosenPart.value = 'all';
    goTo({ graph: origin.graph, tensor: origin.tensor, step: origin.step, visit: origin.visit });
  });
}
