/**
 * Connected patterns, `MatMul->.*->Softmax`: consecutive nodes along data edges. `.*` matches any number of nodes, except another match
 * of the previous part: the last MatMul before the Softmax counts, otherwise most of a network would match.
 */

import { nodeEdges } from '../graph/neighbours';
import type { EdgeColumns } from '../wire/graph';

/** Nodes that match a part; null: any number of any nodes. */
export type Step = Uint8Array | null;

/** More paths than this hide each other. */
const MOST_WAYS = 60;

/**
 * Marks in `hit` the nodes that match a part of some connected sequence; nodes matched by `.*` are not hits. Returns the shortest path to
 * each of the last nodes, complete and in data flow order, at most `MOST_WAYS`.
 */
export function markConnected(nodeCount: number, edges: EdgeColumns, steps: readonly Step[], hit: Uint8Array): Int32Array[] {
  const { outgoing, incoming } = nodeEdges(nodeCount, edges);
  const walk = (from: Uint8Array, near: typeof outgoing, closed: Uint8Array | null): Int32Array => {
    const before = new Int32Array(nodeCount).fill(-1);
    const front = rowsIn(from);
    for (let at = 0; at < front.length; at++) {
      const node = front[at]!;
      for (let i = near.start[node]!; i < near.start[node + 1]!; i++) {
        const next = near.list[i]!;
        if (edges.control[near.edge[i]!] || before[next]! >= 0) continue;
        before[next] = node;
        if (closed && !closed[next]) front.push(next);
      }
    }
    return before;
  };
  const gaps = gapsOf(steps);
  const fits = steps.filter((step) => step !== null);
  // Forwards from the nodes of each part, then backwards, because only nodes on complete paths count.
  const front = fits.slice(0, 1);
  const walks: Int32Array[] = [];
  for (let i = 1; i < fits.length; i++) {
    walks.push(walk(front[i - 1]!, outgoing, gaps[i] ? fits[i - 1]! : null));
    front.push(reachedOf(fits[i]!, walks[i - 1]!));
  }
  let reaching = front[fits.length - 1];
  const ends = reaching && walks.length > 0 ? rowsIn(reaching).slice(0, MOST_WAYS) : [];
  for (let i = fits.length - 1; i >= 0 && reaching; i--) {
    for (let node = 0; node < nodeCount; node++) hit[node]! |= reaching[node]!;
    if (i > 0) reaching = reachedOf(front[i - 1]!, walk(reaching, incoming, gaps[i] ? fits[i - 1]! : null));
  }
  return ends.map((end) => wayTo(end, walks, front));
}

/** Back from a last node through each search to its start. */
function wayTo(end: number, walks: readonly Int32Array[], front: readonly Uint8Array[]): Int32Array {
  const rows = [end];
  for (let i = walks.length - 1; i >= 0; i--) {
    do rows.push(walks[i]![rows[rows.length - 1]!]!);
    while (!front[i]![rows[rows.length - 1]!]);
  }
  return Int32Array.from(rows.reverse());
}

/** Each link of the paths once, so that shared links are drawn once. */
export function linksOnce(ways: readonly Int32Array[], nodeCount: number): Int32Array[] {
  const seen = new Set<number>();
  const pieces: Int32Array[] = [];
  for (const way of ways) {
    let from = 0;
    for (let i = 1; i <= way.length; i++) {
      const link = i < way.length ? way[i - 1]! * nodeCount + way[i]! : -1;
      if (link >= 0 && !seen.has(link)) {
        seen.add(link);
        continue;
      }
      if (i - from > 1) pieces.push(way.subarray(from, i));
      from = i;
    }
  }
  return pieces;
}

/** For each part that is not a gap, whether a gap precedes it. */
function gapsOf(steps: readonly Step[]): boolean[] {
  return steps.flatMap((step, i) => (step === null ? [] : [i > 0 && steps[i - 1] === null]));
}

/** Nodes of a set that a search reached. */
const reachedOf = (nodes: Uint8Array, before: Int32Array): Uint8Array => nodes.map((is, node) => (before[node]! >= 0 ? is : 0));

function rowsIn(set: Uint8Array): number[] {
  const rows: number[] = [];
  for (let row = 0; row < set.length; row++) if (set[row]) rows.push(row);
  return rows;
}
