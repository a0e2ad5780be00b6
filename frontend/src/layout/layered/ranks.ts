/** Ranks: rows of the layered layout, so that edges run downwards. */

import { type Adjacency, adjacency, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import { edgesToReverse } from './cycles';

export interface Ranks {
  readonly rank: Numbers;
  readonly count: number;
  /** Edges of cycles are reversed: their ends in drawing direction, and which were reversed. */
  readonly upper: Numbers;
  readonly lower: Numbers;
  readonly turned: Numbers;
  /** Vertices in topological order. */
  readonly order: Numbers;
}

export function assignRanks(count: number, source: Numbers, target: Numbers, weight: Numbers): Ranks {
  const turned = edgesToReverse(count, source, target, weight);
  const upper = integers(source.length);
  const lower = integers(source.length);
  for (let e = 0; e < source.length; e++) {
    upper[e] = turned[e] ? target[e]! : source[e]!;
    lower[e] = turned[e] ? source[e]! : target[e]!;
  }
  const order = topological(count, upper, lower);
  const rank = longestPaths(count, order, upper, lower);
  tighten(count, order, rank, upper, lower);
  let highest = 0;
  for (let v = 0; v < count; v++) highest = Math.max(highest, rank[v]!);
  return { rank, count: highest + 1, upper, lower, turned, order };
}

/** Depth-first topological order: chains stay together. */
function topological(count: number, upper: Numbers, lower: Numbers): Numbers {
  const out = adjacency(count, upper, lower);
  const order = integers(count);
  const state = integers(count);
  const next = out.start.slice();
  const stack: number[] = [];
  let at = count;
  for (let root = count - 1; root >= 0; root--) {
    if (state[root]) continue;
    stack.push(root);
    state[root] = 1;
    while (stack.length) {
      const v = stack[stack.length - 1]!;
      if (next[v]! >= out.start[v + 1]!) {
        order[--at] = v;
        stack.pop();
        continue;
      }
      const w = out.list[next[v]!++]!;
      if (!state[w]) {
        state[w] = 1;
        stack.push(w);
      }
    }
  }
  return order;
}

function longestPaths(count: number, order: Numbers, upper: Numbers, lower: Numbers): Numbers {
  const out = adjacency(count, upper, lower);
  const rank = integers(count);
  for (let i = 0; i < count; i++) {
    const v = order[i]!;
    for (let j = out.start[v]!; j < out.start[v + 1]!; j++) {
      const w = out.list[j]!;
      if (rank[w]! <= rank[v]!) rank[w] = rank[v]! + 1;
    }
  }
  return rank;
}

/** Moves a vertex down to its outputs if that lengthens no more edges than it shortens. */
function tighten(count: number, order: Numbers, rank: Numbers, upper: Numbers, lower: Numbers): void {
  const out = adjacency(count, upper, lower);
  const into = adjacency(count, lower, upper);
  const free = feedsOneOnly(count, order, out, into);
  for (let i = count - 1; i >= 0; i--) {
    const v = order[i]!;
    const outs = out.start[v + 1]! - out.start[v]!;
    const ins = into.start[v + 1]! - into.start[v]!;
    if (outs === 0 || (ins >= outs && !free[v])) continue;
    let below = Number.POSITIVE_INFINITY;
    for (let j = out.start[v]!; j < out.start[v + 1]!; j++) below = Math.min(below, rank[out.list[j]!]!);
    if (below - 1 > rank[v]!) rank[v] = below - 1;
  }
}

/** Vertices with a tree above them that feeds nothing else: the tree moves down with them. */
function feedsOneOnly(count: number, order: Numbers, out: Adjacency, into: Adjacency): Numbers {
  const free = integers(count, 1);
  for (let i = 0; i < count; i++) {
    const v = order[i]!;
    for (let j = into.start[v]!; j < into.start[v + 1]!; j++) {
      const u = into.list[j]!;
      if (!free[u] || out.start[u + 1]! - out.start[u]! > 1) free[v] = 0;
    }
  }
  return free;
}
