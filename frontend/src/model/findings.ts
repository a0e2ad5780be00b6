/** Answers of `…/findings` and `…/nan` (server/http_api.md), as far as the page shows them. */

export type Severity = 'high' | 'medium' | 'low';

export interface Finding {
  rule: string;
  severity: Severity;
  text: string;
  tensor: string;
  node: string;
  graph: string;
  first_step: number;
  steps: number;
  of: number;
  evidence: { step: number; name: string; value: number | string; limit: number | string | null }[];
  help: string;
  source: string;
  next_look: string;
  frame: { file: string; line: number; text: string | null } | null;
  muted: boolean;
}

export interface Findings {
  findings: Finding[];
  working: boolean;
  error: string | null;
}

export interface Birth {
  tensor: string;
  node: string;
  graph: string;
  op_type: string;
  step: number;
  verdict: string;
  explanation: { pattern: string; text: string; help: string; certain: boolean } | null;
  frame: { file: string; line: number; text: string | null } | null;
}

export interface Link {
  tensor: string;
  node: string;
  op_type: string;
  nan: number;
  inf: number;
  verdict: string;
}

export interface NanReport {
  step: number | null;
  graph: string;
  births: Birth[];
  chain: Link[];
}

export interface NanAnswer {
  report: NanReport | null;
  working: boolean;
  error: string | null;
}
