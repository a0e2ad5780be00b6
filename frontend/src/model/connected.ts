/**
 * Connected patterns, `MatMul->.*->Softmax`: nodes in a row along data edges. `.*` stands for any number of nodes, or none, but not for a further one that
 * fits the step before it: the MatMul that is meant is the last before the Softmax, else all of a network would be a hit.
 */

import type { EdgeColumns } from './graph';
import { nodeEdges } from './neighbours';

/** Which nodes a step fits; null: any number of nodes, whatever they are. */
export type Step = Uint8Array | null;

/** Marks in `hit` the nodes that fit a step of some row of connected nodes; those that a `.*` stands for are not hits. */
export function markConnected(nodeCount: number, edges: EdgeColumns, steps: readonly Step[], hit: Uint8Array): void {
  const { outgoing, incoming } = nodeEdges(nodeCount, edges);
  const walk = (from: Uint8Array, near: typeof outgoing, closed: Uint8Array | null): Uint8Array => {
    const reached = new Uint8Array(nodeCount);
    const front = rowsIn(from);
    for (let at = 0; at < front.length; at++) {
      const node = front[at]!;
      for (let i = near.start[node]!; i < near.start[node + 1]!; i++) {
        const next = near.list[i]!;
        if (edges.control[near.edge[i]!] || reached[next]) continue;
        reached[next] = 1;
        if (closed && !closed[next]) front.push(next);
      }
    }
    return reached;
  };
  const gaps = gapsOf(steps);
  const fits = steps.filter((step) => step !== null);
  // What is reached from a node of each step; then backwards, as only what can go on to the end counts.
  const front = fits.slice(0, 1);
  for (let i = 1; i < fits.length; i++) front.push(both(fits[i]!, walk(front[i - 1]!, outgoing, gaps[i] ? fits[i - 1]! : null)));
  let reaching = front[fits.length - 1];
  for (let i = fits.length - 1; i >= 0 && reaching; i--) {
    for (let node = 0; node < nodeCount; node++) hit[node]! |= reaching[node]!;
    if (i > 0) reaching = both(front[i - 1]!, walk(reaching, incoming, gaps[i] ? fits[i - 1]! : null));
  }
}

/** For each step that is no gap, whether there is a gap before it. */
function gapsOf(steps: readonly Step[]): boolean[] {
  return steps.flatMap((step, i) => (step === null ? [] : [i > 0 && steps[i - 1] === null]));
}

const both = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((is, node) => is & b[node]!);

function rowsIn(set: Uint8Array): number[] {
  const rows: number[] = [];
  for (let row = 0; row < set.length; row++) if (set[row]) rows.push(row);
  return rows;
}
