/** What the problems page says first, and in which order the rest follows. */

import { counted } from '../../lib/text/format';
import type { NonfiniteProblem } from '../wire/answers';
import type { Finding, NanReport, Origin, Severity } from '../wire/findings';

/** Findings of one rule and severity. */
export interface FindingGroup {
  rule: string;
  title: string;
  severity: Severity;
  findings: Finding[];
}

/** `Rule`, or `Rule: tensor`, as the user muted them on this page. */
export function mutes(entries: readonly string[], finding: Finding): boolean {
  return finding.muted || entries.includes(finding.rule) || entries.includes(`${finding.rule}: ${finding.tensor}`);
}

/** Rules together, in the order of the first of each; findings come the worst first, then the newest, then in data flow order, as on the command line. */
export function groupFindings(findings: readonly Finding[]): FindingGroup[] {
  const groups = new Map<string, FindingGroup>();
  for (const finding of findings) {
    const { rule, title, severity } = finding;
    const key = `${severity} ${rule}`;
    const group = groups.get(key) ?? { rule, title, severity, findings: [] };
    group.findings.push(finding);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The origins of a report say what this rule would only repeat. */
const REPEATS_ORIGINS = 'ExplodingTensor';

export function withoutOrigins(findings: readonly Finding[], report: NanReport | null): Finding[] {
  return findings.filter((finding) => finding.rule !== REPEATS_ORIGINS || !report?.origins.length);
}

/** Whether origins say that a tensor's NaN and Inf are meant or without effect, as an attention mask's are; false where nothing is known. */
export function isIntended(problem: NonfiniteProblem, report: NanReport | null): boolean {
  if (report === null || report.step === null) return false;
  const same = (each: { tensor: string; graph?: string }) =>
    each.tensor === problem.tensor && (each.graph ?? report.graph) === problem.graph;
  if (report.origins.some(same) || report.chain.some(same)) return false;
  if (report.demoted.some(same) || report.origins.length === 0) return true;
  return problem.first_step < report.step; // the report is of the first step with a origin that matters
}

/** The tensors that origins name head a list of them, in their order: in a loop the flow also leads back, so what stands first there may have been handed it. */
export function originsFirst(problems: readonly NonfiniteProblem[], report: NanReport | null): NonfiniteProblem[] {
  const origins = new Map((report?.origins ?? []).map(({ graph, tensor }, i) => [`${graph} ${tensor}`, i]));
  const place = ({ graph, tensor }: NonfiniteProblem) => origins.get(`${graph} ${tensor}`) ?? origins.size;
  return [...problems].sort((a, b) => place(a) - place(b));
}

/** By which colour it is shown: NaN before infinity, as on the graph. */
export const badColour = ({ nan }: { nan: number }): 'nan' | 'inf' => (nan > 0 ? 'nan' : 'inf');

/** Which time within its step a node in a loop ran; nothing for the first, as on the command line. */
export const visitText = ({ visit = 0 }: { visit?: number }): string => (visit > 0 ? ` (iteration ${visit})` : '');

/** What the page says above all else: origins that do not heal again spoil a run, then come findings of the worst kind. */
export function pageHead(origins: readonly Origin[], counts: Readonly<Record<Severity, number>>): string {
  const broke = origins.find((origin) => !origin.aftermath);
  if (broke) return `NaN/Inf broke this run at step ${broke.step}`;
  if (counts.high > 0) return `${counted(counts.high, 'high-severity finding')}`;
  if (origins.length > 0) return 'NaN/Inf occur but do not reach the loss or weights';
  return counts.medium > 0 ? counted(counts.medium, 'medium-severity finding') : counted(counts.low, 'low-severity finding');
}

/** Origins after the first, the same verdict and op as one line. */
interface OriginGroup {
  first: Origin;
  others: Origin[];
}

export function groupOrigins(origins: readonly Origin[]): OriginGroup[] {
  const groups = new Map<string, OriginGroup>();
  for (const origin of origins) {
    const key = `${origin.verdict} ${origin.op_type} ${origin.explanation?.pattern ?? ''} ${origin.demoted}`;
    const group = groups.get(key);
    if (group) group.others.push(origin);
    else groups.set(key, { first: origin, others: [] });
  }
  return [...groups.values()];
}
