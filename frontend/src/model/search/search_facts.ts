import type { SourceMap } from '../run/source_lines';

/** What a search knows of a graph's nodes besides the graph. */
export interface SearchFacts {
  /** Whether a node is so at the step on show, for `is:nan` and `is:inf`. */
  nan(row: number): boolean;
  inf(row: number): boolean;
  /** What was found in the run: a rule's name (`NaN` and `Inf` for tensors that ever were) and the node. */
  readonly problems: readonly { readonly rule: string; readonly node: string }[];
  /** Which lines made which nodes; null while that is not known. */
  readonly lines: SourceMap | null;
}

export const NO_FACTS: SearchFacts = { nan: () => false, inf: () => false, problems: [], lines: null };
