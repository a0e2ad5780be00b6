/**
 * Connected patterns, `MatMul->.*->Softmax`: nodes in a row along data edges. A step is a regular expression that the whole
 * op type fits, or a field as in search.ts; `.*` stands for up to `MOST_BETWEEN` nodes of any type, or none.
 */

import type { EdgeColumns } from './graph';
import { nodeEdges } from './neighbours';

/** Farther apart nearly everything in a network is connected, and a hit would say nothing. */
export const MOST_BETWEEN = 8;

/** Which nodes a step fits; null: any number of nodes, whatever they are. */
export type Step = Uint8Array | null;

/** Marks in `hit` the nodes that fit a step of some row of connected nodes; those that a `.*` stands for are not hits. */
export function markConnected(nodeCount: number, edges: EdgeColumns, steps: readonly Step[], hit: Uint8Array): void {
  const { outgoing, incoming } = nodeEdges(nodeCount, edges);
  const walk = (from: Uint8Array, near: typeof outgoing): Uint8Array => {
    const reached = new Uint8Array(nodeCount);
    for (let node = 0; node < nodeCount; node++) {
      if (!from[node]) continue;
      for (let i = near.start[node]!; i < near.start[node + 1]!; i++) if (!edges.control[near.edge[i]!]) reached[near.list[i]!] = 1;
    }
    return reached;
  };
  const forward = follow(steps, (from) => walk(from, outgoing));
  // Only what can go on to the end counts: the same backwards, from what was reached.
  const backward = follow([...forward].reverse(), (from) => walk(from, incoming));
  for (const step of backward) if (step) for (let node = 0; node < nodeCount; node++) hit[node]! |= step[node]!;
}

/** For each step the nodes that fit it and are reached from one that fits the step before. */
function follow(steps: readonly Step[], walk: (from: Uint8Array) => Uint8Array): Step[] {
  let front: Uint8Array | null = null;
  let between = 0;
  return steps.map((step) => {
    if (step === null) {
      between = MOST_BETWEEN;
      return null;
    }
    const reached: Uint8Array | null = front && reach(front, between, walk);
    between = 0;
    front = reached ? step.map((fits, node) => fits & reached[node]!) : step;
    return front;
  });
}

/** What is one edge away, or has up to `between` nodes in between. */
function reach(from: Uint8Array, between: number, walk: (from: Uint8Array) => Uint8Array): Uint8Array {
  const reached = walk(from);
  let front = reached;
  for (let i = 0; i < between; i++) {
    const next = walk(front);
    front = next.map((is, node) => (is && !reached[node] ? 1 : 0));
    for (let node = 0; node < front.length; node++) reached[node]! |= front[node]!;
  }
  return reached;
}
