/** A trace: all that something depends on, all that depends on it, or the shortest path between two. What it is asked of are nodes or scopes. */

import { type GraphData, rowOf } from '../wire/graph';
import { shortestPath, traceRows } from './paths';
import { findScope, type ScopeTree, scopePath } from './tree';

export const TRACE_KINDS = ['inputs', 'outputs', 'path'] as const;
export type TraceKind = (typeof TRACE_KINDS)[number];

/** Ends are names of nodes or paths of scopes; `to` only of a path. */
export interface Trace {
  readonly kind: TraceKind;
  readonly from: string;
  readonly to: string;
}

export interface TracedNodes {
  readonly trace: Trace;
  /** Of a path: along the data, both ends included; else nearest first, without where the trace begins. */
  readonly rows: Int32Array;
  /** Where the trace begins. */
  readonly origin: readonly number[];
  /** What the graph on show does not have, or null. */
  readonly missing: string | null;
}

export function sameTrace(a: Trace | null, b: Trace | null): boolean {
  return a === b || (a !== null && b !== null && a.kind === b.kind && a.from === b.from && a.to === b.to);
}

export function followTrace(graph: GraphData, tree: ScopeTree, trace: Trace): TracedNodes {
  const ends = trace.kind === 'path' ? [trace.from, trace.to] : [trace.from];
  const rows = ends.map((name) => rowsNamed(graph, tree, name));
  const missing = ends.find((_, i) => rows[i]!.length === 0) ?? null;
  if (missing !== null) return { trace, rows: new Int32Array(0), origin: [], missing };
  const [from, to] = [rows[0]!, rows[1] ?? []];
  const found =
    trace.kind === 'path'
      ? shortestPath(graph.nodeCount, graph.edges, from, to)
      : traceRows(graph.nodeCount, graph.edges, from, trace.kind);
  return { trace, rows: found, origin: from, missing: null };
}

/** The node of a name, or all nodes of the scope of a path. */
export function rowsNamed(graph: GraphData, tree: ScopeTree, name: string): number[] {
  const row = rowOf(graph, name);
  if (row >= 0) return [row];
  const scope = findScope(tree, graph.paths, name);
  if (scope <= 0 || scopePath(tree, graph.paths, scope) !== name) return [];
  const rows: number[] = [];
  for (let inner = scope; inner < tree.subtreeEnd[scope]!; inner++) {
    if (tree.owner[inner]! >= 0) rows.push(tree.owner[inner]!);
    for (let i = tree.childStart[inner]!; i < tree.childStart[inner + 1]!; i++) {
      if (tree.children[i]! < tree.nodeCount) rows.push(tree.children[i]!);
    }
  }
  return rows;
}
