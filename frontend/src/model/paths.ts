/** Ways through the graph: all that feeds a node or is fed by it, and the shortest way between two. Along data edges only. */

import type { EdgeColumns } from './graph';
import { nodeEdges } from './neighbours';

export type TraceDirection = 'inputs' | 'outputs';

/** Rows of all nodes that a node depends on (`inputs`) or that depend on it (`outputs`), itself left out, nearest first. */
export function traceRows(nodeCount: number, edges: EdgeColumns, row: number, direction: TraceDirection): Int32Array {
  return search(nodeCount, edges, row, direction === 'outputs', -1).reached.subarray(1);
}

/** Rows from one node to another, both included: with the data if there is such a way, else against it; empty if there is none. */
export function shortestPath(nodeCount: number, edges: EdgeColumns, from: number, to: number): Int32Array {
  if (from === to) return Int32Array.of(from);
  for (const [start, end] of [
    [from, to],
    [to, from],
  ] as const) {
    const { before } = search(nodeCount, edges, start, true, end);
    if (before[end]! < 0) continue;
    const rows = [end];
    while (rows[rows.length - 1] !== start) rows.push(before[rows[rows.length - 1]!]!);
    return Int32Array.from(start === from ? rows.reverse() : rows);
  }
  return new Int32Array(0);
}

/** Breadth first until `goal` is found (-1: everything): the nodes in order, and from which each was reached (-1: it was not). */
function search(
  nodeCount: number,
  edges: EdgeColumns,
  start: number,
  withData: boolean,
  goal: number,
): { reached: Int32Array; before: Int32Array } {
  const found = nodeEdges(nodeCount, edges);
  const near = withData ? found.outgoing : found.incoming;
  const before = new Int32Array(nodeCount).fill(-1);
  const queue = new Int32Array(nodeCount);
  let [head, tail] = [0, 1];
  queue[0] = start;
  before[start] = start;
  while (head < tail && (goal < 0 || before[goal]! < 0)) {
    const node = queue[head++]!;
    for (let i = near.start[node]!; i < near.start[node + 1]!; i++) {
      const next = near.list[i]!;
      if (edges.control[near.edge[i]!] || before[next]! >= 0) continue;
      before[next] = node;
      queue[tail++] = next;
    }
  }
  return { reached: queue.subarray(0, tail), before };
}
