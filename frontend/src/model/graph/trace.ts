/** A trace: all that something depends on, all that depends on it, or the shortest path between two. What it is asked of are nodes or scopes. */

import { type EdgeColumns, type GraphData, rowOf } from '../wire/graph';
import { nodeEdges } from './neighbours';
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
function rowsNamed(graph: GraphData, tree: ScopeTree, name: string): number[] {
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

// Ways through the graph: all that feeds some nodes or is fed by them, and the shortest way between two sets. Along data edges only.

type TraceDirection = 'inputs' | 'outputs';

/** Rows of all nodes that some depend on (`inputs`) or that depend on them (`outputs`), themselves left out, nearest first. */
export function traceRows(nodeCount: number, edges: EdgeColumns, rows: readonly number[], direction: TraceDirection): Int32Array {
  return search(nodeCount, edges, rows, direction === 'outputs', null).reached.slice(rows.length);
}

/**
 * Rows from one of some nodes to one of others, both included and in the data's order: from the first ones if there is such a
 * way, else from the others to the first; empty if there is neither.
 */
export function shortestPath(nodeCount: number, edges: EdgeColumns, from: readonly number[], to: readonly number[]): Int32Array {
  for (const [start, end] of [
    [from, to],
    [to, from],
  ] as const) {
    const goal = new Uint8Array(nodeCount);
    for (const row of end) goal[row] = 1;
    const { before, found } = search(nodeCount, edges, start, true, goal);
    if (found < 0) continue;
    const rows = [found];
    while (before[rows[rows.length - 1]!] !== rows[rows.length - 1]) rows.push(before[rows[rows.length - 1]!]!);
    return Int32Array.from(rows.reverse());
  }
  return new Int32Array(0);
}

interface Found {
  /** Nodes in the order in which they were reached, the first ones included. */
  readonly reached: Int32Array;
  /** From which node each was reached: the first ones from themselves; -1: it was not. */
  readonly before: Int32Array;
  /** The goal that was reached, or -1. */
  readonly found: number;
}

/** Breadth first until one of `goal` is reached (null: everything). */
function search(nodeCount: number, edges: EdgeColumns, starts: readonly number[], withData: boolean, goal: Uint8Array | null): Found {
  const { outgoing, incoming } = nodeEdges(nodeCount, edges);
  const near = withData ? outgoing : incoming;
  const before = new Int32Array(nodeCount).fill(-1);
  const queue = new Int32Array(nodeCount);
  let [head, tail] = [0, 0];
  for (const start of starts) {
    before[start] = start;
    queue[tail++] = start;
  }
  while (head < tail) {
    const node = queue[head++]!;
    if (goal?.[node]) return { reached: queue.subarray(0, tail), before, found: node };
    for (let i = near.start[node]!; i < near.start[node + 1]!; i++) {
      const next = near.list[i]!;
      if (edges.control[near.edge[i]!] || before[next]! >= 0) continue;
      before[next] = node;
      queue[tail++] = next;
    }
  }
  return { reached: queue.subarray(0, tail), before, found: -1 };
}
