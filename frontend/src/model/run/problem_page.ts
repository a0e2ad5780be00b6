/** Order of the problems page. */

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

/**
 * Groups findings by rule, in the order of the first of each; findings are sorted by severity, then newest, then data flow order, as on
 * the command line.
 */
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

/** This rule would only repeat the origins of a report. */
const REPEATS_ORIGINS = 'ExplodingTensor';

export function withoutOrigins(findings: readonly Finding[], report: NanReport | null): Finding[] {
  return findings.filter((finding) => finding.rule !== REPEATS_ORIGINS || !report?.origins.length);
}

/** Whether all NaN and Inf of a tensor are expected according to the report, like those of an attention mask; false if unknown. */
export function isIntended(problem: NonfiniteProblem, report: NanReport | null): boolean {
  if (report === null || report.step === null) return false;
  const same = (each: { tensor: string; graph?: string }) =>
    each.tensor === problem.tensor && (each.graph ?? report.graph) === problem.graph;
  if (report.origins.some(same) || report.chain.some(same)) return false;
  if (report.demoted.some(same) || report.origins.length === 0) return true;
  return problem.first_step < report.step; // the report is about the first step with an origin that matters
}

/**
 * Tensors named by origins come first, in their order: in a loop, data also flows back, so the first tensor in data flow order may not be
 * the origin.
 */
export function originsFirst(problems: readonly NonfiniteProblem[], report: NanReport | null): NonfiniteProblem[] {
  const origins = new Map((report?.origins ?? []).map(({ graph, tensor }, i) => [`${graph} ${tensor}`, i]));
  const place = ({ graph, tensor }: NonfiniteProblem) => origins.get(`${graph} ${tensor}`) ?? origins.size;
  return [...problems].sort((a, b) => place(a) - place(b));
}

/** Colour of its display: NaN before infinity, as on the graph. */
export const badColour = ({ nan }: { nan: number }): 'nan' | 'inf' => (nan > 0 ? 'nan' : 'inf');

/** Iteration of a node in a loop; empty for the first, as on the command line. */
export const visitText = ({ visit = 0 }: { visit?: number }): string => (visit > 0 ? ` (iteration ${visit})` : '');

/** Headline of the page: origins that reach the loss, else the worst findings. */
export function pageHead(origins: readonly Origin[], counts: Readonly<Record<Severity, number>>): string {
  const broke = origins.find((origin) => !origin.aftermath);
  if (broke) return `NaN/Inf broke this run at step ${broke.step}`;
  if (counts.high > 0) return `${counted(counts.high, 'high-severity finding')}`;
  if (origins.length > 0) return 'NaN/Inf occur but do not reach the loss or weights';
  return counts.medium > 0 ? counted(counts.medium, 'medium-severity finding') : counted(counts.low, 'low-severity finding');
}

/** Origins after the first, with equal verdict and op as one line. */
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
