/** Ways through the graph: all that feeds some nodes or is fed by them, and the shortest way between two sets. Along data edges only. */

import type { EdgeColumns } from '../wire/graph';
import { nodeEdges } from './neighbours';

export type TraceDirection = 'inputs' | 'outputs';

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
