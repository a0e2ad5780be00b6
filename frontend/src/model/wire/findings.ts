/** Answers of `…/findings` and `…/nan` (server/http_api.md). Numbers that are not finite are strings. */

import { counted, formatCount, formatNumber } from '../../lib/text/format';
import type { StackFrame } from './answers';

export const SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];
export type Measured = number | string;

export interface Progress {
  done: number;
  total: number;
  doing: string;
}

/** Status of an analysis. */
export interface Analysed {
  working: boolean;
  progress: Progress;
  error: string | null;
  /** The fix. */
  hint?: string;
  /** Unreadable data of the run, which are missing in the answer: sentences. */
  damage?: string[];
}

export interface Evidence {
  step: number;
  name: string;
  value: Measured;
  limit: Measured | null;
}

/** The value and threshold of a finding, as the command line prints them: three digits, and enough to differ. */
export function evidenceTexts({ name, value, limit }: Evidence): { value: string; threshold: string | null } {
  // "% zeros" is measured as a share of 1.
  const text = (number: Measured, digits: number) =>
    name.startsWith('% ') ? `${formatNumber(100 * Number(number), digits)} %` : formatNumber(Number(number), digits);
  if (limit === null) return { value: text(value, 3), threshold: null };
  const threshold = text(limit, 3);
  const digits = [3, 4, 6, 9].find((count) => text(value, count) !== threshold) ?? 3;
  return { value: text(value, digits), threshold };
}

export interface Finding {
  rule: string;
  /** The rule's name as a heading. */
  title: string;
  severity: Severity;
  text: string;
  tensor: string;
  node: string;
  graph: string;
  op_type: string;
  layer: string;
  first_step: number;
  last_step: number;
  steps: number;
  /** Number of checked steps, or of what `looked_at` names. */
  of: number;
  looked_at?: string;
  evidence: Evidence[];
  help: string;
  source: string;
  next_look: string;
  frame: StackFrame | null;
  muted: boolean;
}

export interface Findings extends Analysed {
  findings: Finding[];
  /** Rules that raised an error, and why. */
  failed: Record<string, string>;
  rules: number;
  snapshots: number;
  /** Further findings of a rule that are not listed. */
  left_out?: Record<string, number>;
  /** The server's file of rule settings, and what is wrong with it. */
  rules_file?: { name: string; error: string | null; hint: string } | null;
}

/** A variable: whether its gradient is exactly zero, and why; which updates are lost to rounding. */
export interface LedgerEntry {
  variable: string;
  tensor: string;
  graph: string;
  layer: string;
  steps: number;
  zero_steps: number;
  first_zero_step: number | null;
  zero_share: number;
  /** Empty if it trains, `unknown` if too little was captured. */
  reason: string;
  why: string;
  /** The tensor where the zeros start. */
  begins: string;
  /** Share of updates that changed nothing; null if unknown. */
  absorbed: number | null;
  /** Number of compared pairs of neighbouring steps, of all with stored values. */
  absorbed_steps: number;
  absorbed_of: number;
}

export interface LedgerAnswer extends Analysed {
  entries: LedgerEntry[];
}

/** Counts and extrema of an output or input of an origin. */
interface Operand {
  tensor: string;
  /** Of the call that computed it, if that is another one, or empty. */
  graph?: string;
  visit: number;
  known: boolean;
  size: number;
  nan: number;
  pos_inf: number;
  neg_inf: number;
  zero: number;
  min: Measured;
  max: Measured;
  kept: boolean;
  /** The numbers in words. */
  text: string;
}

export interface ElementStep {
  tensor: string;
  graph?: string;
  visit: number;
  index: number[];
  value: Measured;
  /** In words; empty for a scalar. */
  place: string;
  /** What makes the difference 0 that this is an operand of. */
  equal?: { tensor: string; index: number[] } | null;
}

export interface Origin {
  kind: 'NaN' | 'Infinity';
  /** What happened, at which step and node, without a full stop; and why. */
  title: string;
  reason: string;
  tensor: string;
  node: string;
  graph: string;
  op_type: string;
  layer: string;
  step: number;
  visit: number;
  verdict: string;
  output: Operand;
  inputs: Operand[];
  explanation: { pattern: string; text: string; help: string; certain: boolean } | null;
  /** Why it is expected, or empty. */
  demoted: string;
  /** How an infinity becomes finite before it reaches the loss or a weight, or empty. */
  aftermath: string;
  missing: string[];
  frame: StackFrame | null;
  /** Of a node of the backward pass: the op whose gradient it is, and the select after it. */
  forward?: { tensor: string; node: string; op_type: string; chosen: string } | null;
  elements: { trail: ElementStep[]; row: number | null; sample: string | null; cut: boolean }[];
}

export interface Link {
  /** Id of the tensor's graph: a path passes through all calls of a step. */
  graph: string;
  tensor: string;
  /** The first step at which it is not finite. */
  visit: number;
  node: string;
  op_type: string;
  nan: number;
  inf: number;
  size: number;
  verdict: string;
}

export interface NanReport {
  /** End of the path: `the loss`, or the name of its last tensor; empty without a path. */
  goal: string;
  /** Number of further origins, or empty. */
  more: string;
  /** Number of non-finite tensors, or empty. */
  summary: string;
  step: number | null;
  graph: string;
  graph_name: string;
  loss: string | null;
  origins: Origin[];
  demoted: Origin[];
  chain: Link[];
  nonfinite: number;
  propagated: number;
  recovered: number;
  previous: number | null;
  notes: string[];
}

export interface NanAnswer extends Analysed {
  report: NanReport | null;
}

/** Whether a variable has no gradient at all, not even zeros: it is frozen, or not connected to the loss. */
const hasNoGradient = (entry: LedgerEntry): boolean => entry.reason === 'disconnected' && entry.zero_steps === 0;

const LEAST = 0.005; // smaller shares of lost updates are displayed as 0 % and not reported

/** Whether a variable has zeros, no gradient, or lost updates. */
export const hasNews = (entry: LedgerEntry): boolean => entry.reason !== '' || (entry.absorbed ?? 0) > LEAST;

/** Heading of the listed variables: those without a gradient are counted separately, because frozen layers are not dead. */
export function ledgerHeading(listed: readonly LedgerEntry[]): string {
  const apart = listed.filter(hasNoGradient).length;
  if (apart === listed.length) return `${counted(apart, 'variable')} without a gradient`;
  const dead = `Zero gradients or lost updates: ${counted(listed.length - apart, 'variable')}`;
  return apart > 0 ? `${dead}; ${formatCount(apart)} without a gradient` : dead;
}

/** At how many steps the gradient was 0. */
export function zeroAt(entry: LedgerEntry): string {
  if (hasNoGradient(entry)) return 'no gradient';
  return entry.zero_steps > 0 ? `${formatCount(entry.zero_steps)} of ${counted(entry.steps, 'step')}` : 'never';
}

/** Number of pairs of neighbouring steps behind the share of lost updates, if not all were compared; else empty. */
export function comparedPairs({ absorbed_steps, absorbed_of }: LedgerEntry): string {
  return absorbed_steps < absorbed_of ? `of ${formatCount(absorbed_steps)} of ${formatCount(absorbed_of)} pairs of steps` : '';
}
