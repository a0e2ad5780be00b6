/** A trace: everything upstream or downstream of nodes or scopes, or all paths or the shortest path between two. */

import { type EdgeColumns, type GraphData, rowOf } from '../wire/graph';
import { nodeEdges } from './neighbours';
import { findScope, type ScopeTree, scopePath } from './tree';

export const TRACE_KINDS = ['inputs', 'outputs', 'paths', 'path'] as const;
export type TraceKind = (typeof TRACE_KINDS)[number];

/** Whether a trace has two ends: `path` is the shortest one, `paths` are all. */
export const isBetween = (kind: TraceKind): boolean => kind === 'path' || kind === 'paths';

/** Ends are names of nodes or paths of scopes; `to` only for paths. */
export interface Trace {
  readonly kind: TraceKind;
  readonly from: string;
  readonly to: string;
}

export interface TracedNodes {
  readonly trace: Trace;
  /** For paths: in data flow order, both ends included; else nearest first, without the start. */
  readonly rows: Int32Array;
  /** Where the trace begins. */
  readonly origin: readonly number[];
  /** Ends that the current graph does not have, or null. */
  readonly missing: string | null;
}

export function sameTrace(a: Trace | null, b: Trace | null): boolean {
  return a === b || (a !== null && b !== null && a.kind === b.kind && a.from === b.from && a.to === b.to);
}

export function followTrace(graph: GraphData, tree: ScopeTree, trace: Trace): TracedNodes {
  const ends = isBetween(trace.kind) ? [trace.from, trace.to] : [trace.from];
  const rows = ends.map((name) => rowsNamed(graph, tree, name));
  const missing = ends.find((_, i) => rows[i]!.length === 0) ?? null;
  if (missing !== null) return { trace, rows: new Int32Array(0), origin: [], missing };
  const [from, to] = [rows[0]!, rows[1] ?? []];
  return { trace, rows: rowsOf(graph, trace.kind, from, to), origin: from, missing: null };
}

function rowsOf({ nodeCount, edges }: GraphData, kind: TraceKind, from: readonly number[], to: readonly number[]): Int32Array {
  if (kind === 'path') return shortestPath(nodeCount, edges, from, to);
  return kind === 'paths' ? allPaths(nodeCount, edges, from, to) : traceRows(nodeCount, edges, from, kind);
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

// Searches in the graph along data edges: upstream, downstream, and the shortest path between two sets.

type TraceDirection = 'inputs' | 'outputs';

/** Rows of all nodes upstream (`inputs`) or downstream (`outputs`), without the start, nearest first. */
export function traceRows(nodeCount: number, edges: EdgeColumns, rows: readonly number[], direction: TraceDirection): Int32Array {
  return search(nodeCount, edges, rows, direction === 'outputs', null).reached.slice(rows.length);
}

/**
 * Rows of the shortest path between two sets of nodes, both ends included, in data flow order: from the first set if possible, else from
 * the second; empty if there is none.
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

/** Rows of all nodes on any path between two sets, in either direction, in data flow order. */
function allPaths(nodeCount: number, edges: EdgeColumns, from: readonly number[], to: readonly number[]): Int32Array {
  for (const [start, end] of [
    [from, to],
    [to, from],
  ] as const) {
    const after = search(nodeCount, edges, start, true, null).reached;
    const before = new Set(search(nodeCount, edges, end, false, null).reached);
    const between = after.filter((row) => before.has(row));
    if (between.length > 0) return inDataOrder(nodeCount, edges, between);
  }
  return new Int32Array(0);
}

/** Topological order of nodes, ignoring back edges: reverse postorder of a depth-first search. */
function inDataOrder(nodeCount: number, edges: EdgeColumns, rows: Int32Array): Int32Array {
  const { outgoing } = nodeEdges(nodeCount, edges);
  const waiting = new Uint8Array(nodeCount);
  for (const row of rows) waiting[row] = 1;
  const next = outgoing.start.slice(0, nodeCount);
  const left: number[] = [];
  for (const first of rows) {
    const path = waiting[first] ? [first] : [];
    waiting[first] = 0;
    while (path.length > 0) {
      const row = path[path.length - 1]!;
      const at = next[row]!++;
      if (at >= outgoing.start[row + 1]!) left.push(path.pop()!);
      else if (waiting[outgoing.list[at]!] && !edges.control[outgoing.edge[at]!]) {
        waiting[outgoing.list[at]!] = 0;
        path.push(outgoing.list[at]!);
      }
    }
  }
  return Int32Array.from(left.reverse());
}

interface Found {
  /** Nodes in the order in which they were reached, including the start. */
  readonly reached: Int32Array;
  /** Predecessor of each reached node; the start has itself; -1: not reached. */
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
