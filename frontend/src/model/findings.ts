/** Answers of `…/findings` and `…/nan` (server/http_api.md). Numbers that are not finite are strings. */

import type { StackFrame } from './answers';

export type Severity = 'high' | 'medium' | 'low';
export type Measured = number | string;

export interface Progress {
  done: number;
  total: number;
  doing: string;
}

/** What an analysis says of itself. */
export interface Analysed {
  working: boolean;
  progress: Progress;
  error: string | null;
  /** What helps against it. */
  hint?: string;
}

export interface Evidence {
  step: number;
  name: string;
  value: Measured;
  limit: Measured | null;
}

export interface Finding {
  rule: string;
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
  of: number;
  evidence: Evidence[];
  help: string;
  source: string;
  next_look: string;
  frame: StackFrame | null;
  muted: boolean;
}

export interface Findings extends Analysed {
  findings: Finding[];
  /** Rules that raised, and why. */
  failed: Record<string, string>;
  rules: number;
  snapshots: number;
}

/** Counts and extrema of an output or input of a birth. */
export interface Operand {
  tensor: string;
  known: boolean;
  size: number;
  nan: number;
  pos_inf: number;
  neg_inf: number;
  zero: number;
  min: Measured;
  max: Measured;
  kept: boolean;
}

export interface ElementStep {
  tensor: string;
  index: number[];
  value: Measured;
  place: string;
}

export interface Birth {
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
  /** Why it is harmless, or empty. */
  demoted: string;
  missing: string[];
  frame: StackFrame | null;
  elements: { trail: ElementStep[]; row: number | null; sample: string | null }[];
}

export interface Link {
  tensor: string;
  node: string;
  op_type: string;
  nan: number;
  inf: number;
  size: number;
  verdict: string;
}

export interface NanReport {
  step: number | null;
  graph: string;
  graph_name: string;
  loss: string | null;
  births: Birth[];
  demoted: Birth[];
  chain: Link[];
  nonfinite: number;
  passed: number;
  healed: number;
  previous: number | null;
  notes: string[];
}

export interface NanAnswer extends Analysed {
  report: NanReport | null;
}
