/** Navigation between nodes with NaN or Inf, in data flow order. */

import { adjacency } from '../../lib/arrays/typed_arrays';
import type { GraphData } from '../wire/graph';

/**
 * The row after row `from` (-1 for none), or before it, cyclic; undefined if `bad` is empty. Rows in `origins` come first, then all
 * others in data flow order.
 */
export function nextBadNode(
  graph: GraphData,
  bad: readonly number[],
  origins: readonly number[],
  from: number,
  direction: 1 | -1,
): number | undefined {
  const positions = flowPositions(graph);
  const held = new Set(bad);
  const first = [...new Set(origins)].filter((row) => held.has(row));
  const began = new Set(first);
  const rest = bad.filter((row) => !began.has(row)).sort((a, b) => positions[a]! - positions[b]!);
  const all = [...first, ...rest];
  const at = all.indexOf(from);
  if (at >= 0) return all[(at + direction + all.length) % all.length];
  if (from < 0) return all.at(direction > 0 ? 0 : -1);
  // From a finite node to those downstream, or upstream.
  const here = positions[from]!;
  const beside = direction > 0 ? rest.find((row) => positions[row]! > here) : rest.findLast((row) => positions[row]! < here);
  return beside ?? all.at(direction > 0 ? 0 : -1);
}

// Data flow order: every node after its inputs.

/** Edges that leave these ops close a loop, and are ignored. */
const CLOSE_LOOPS: ReadonlySet<string> = new Set(['NextIteration', 'RefNextIteration']);

const known = new WeakMap<GraphData, Int32Array>();

/**
 * Position of each node in data flow order, computed once per graph with the server's algorithm (`tensortap/index/graph/edges.py`), in
 * linear time.
 */
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
