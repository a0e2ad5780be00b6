/** Twins: small children with the very same neighbours (a hundred constants nobody here reads, all inputs of one call). They become one block. */

import { integers, type Numbers } from '../lib/numbers';
import type { ScopeGraph } from './scope_graph';

const FEWEST_AUXILIARY = 4;
const FEWEST = 10;

/** Group of each child, or -1; groups are numbered from 0. `free[i]`: the child may join a group. */
export function groupTwins(
  graph: ScopeGraph,
  free: (child: number) => boolean,
  auxiliary: (entity: number) => boolean,
): { group: Numbers; groups: number } {
  const count = graph.entities.length;
  const group = integers(count, -1);
  if (count < FEWEST_AUXILIARY) return { group, groups: 0 };
  const keys = neighbourKeys(graph, free);
  const members = new Map<string, number[]>();
  for (let i = 0; i < count; i++) {
    const key = keys[i];
    if (key === undefined) continue;
    const twins = members.get(key);
    if (twins) twins.push(i);
    else members.set(key, [i]);
  }
  let groups = 0;
  for (const twins of members.values()) {
    const fewest = twins.every((i) => auxiliary(graph.entities[i]!)) ? FEWEST_AUXILIARY : FEWEST;
    if (twins.length < fewest) continue;
    for (const i of twins) group[i] = groups;
    groups++;
  }
  return { group, groups };
}

/** Neighbours further down the list than this make no twins, and keys stay short. */
const MOST_NEIGHBOURS = 8;

function neighbourKeys(graph: ScopeGraph, free: (child: number) => boolean): (string | undefined)[] {
  const neighbours: (number[] | undefined)[] = [];
  for (let i = 0; i < graph.entities.length; i++) neighbours.push(free(i) ? [] : undefined);
  for (let e = 0; e < graph.source.length; e++) {
    neighbours[graph.source[e]!]?.push(2 * graph.target[e]!);
    neighbours[graph.target[e]!]?.push(2 * graph.source[e]! + 1);
  }
  return neighbours.map((list) => (list && list.length <= MOST_NEIGHBOURS ? list.sort((a, b) => a - b).join() : undefined));
}
