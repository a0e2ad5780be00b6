/** Data flow order: every node behind the nodes that it takes its inputs from. */

import { adjacency } from '../../lib/typed_arrays';
import type { GraphData } from '../wire/graph';

/** The edges that leave these close a loop, and do not count. */
const CLOSE_LOOPS: ReadonlySet<string> = new Set(['NextIteration', 'RefNextIteration']);

const known = new WeakMap<GraphData, Int32Array>();

/** Position of each node in data flow order, made once for a graph: the server's own (`tensortap/index/graph/topological_order.py`), in time linear in nodes and edges. */
export function flowPositions(graph: GraphData): Int32Array {
  let positions = known.get(graph);
  if (!positions) {
    positions = ordered(graph);
    known.set(graph, positions);
  }
  return positions;
}

function ordered({ nodeCount, edges, opTypes }: GraphData): Int32Array {
  const { start, list } = adjacency(nodeCount, edges.source, edges.target);
  const closesLoop = (row: number): boolean => CLOSE_LOOPS.has(opTypes.at(row));
  const waiting = new Int32Array(nodeCount);
  for (let e = 0; e < edges.target.length; e++) if (!closesLoop(edges.source[e]!)) waiting[edges.target[e]!]!++;
  const positions = new Int32Array(nodeCount).fill(-1);
  const ready = Array.from(positions.keys()).filter((row) => waiting[row] === 0);
  let [next, cut, placed] = [0, 0, 0];
  while (placed < nodeCount) {
    // Other cycles are cut at their first node.
    if (next === ready.length) {
      while (positions[cut]! >= 0) cut++;
      ready.push(cut);
    }
    const row = ready[next++]!;
    if (positions[row]! >= 0) continue;
    positions[row] = placed++;
    if (closesLoop(row)) continue;
    for (let i = start[row]!; i < start[row + 1]!; i++) if (--waiting[list[i]!]! === 0) ready.push(list[i]!);
  }
  return positions;
}
