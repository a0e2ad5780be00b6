/**
 * Small nodes stand beside what they feed: an auxiliary node (constant, variable read) with one consumer among its
 * siblings is attached to it; what feeds only an attached node follows it.
 */

import { integers, type Numbers } from '../lib/numbers';
import type { ScopeGraph } from './scope_graph';

/** More than this many beside one node would hide it; the others stay in the flow. */
const MOST_ATTACHED = 6;

/** For each child the child that it is attached to, or -1. Chains are two long at most. */
export function attachAuxiliary(graph: ScopeGraph, auxiliary: (entity: number) => boolean): Numbers {
  const count = graph.entities.length;
  const host = integers(count, -1);
  const candidate = integers(count);
  let any = false;
  for (let i = 0; i < count; i++) {
    candidate[i] = auxiliary(graph.entities[i]!) ? 1 : 0;
    any ||= candidate[i] === 1;
  }
  if (!any) return host;
  const { consumer, sources } = consumers(graph);
  const attached = integers(count);
  // A node that is read from must be seen first: its reader hosts it only while it is attached itself.
  for (const wanted of [0, 1]) {
    for (let i = 0; i < count; i++) {
      const to = consumer[i]!;
      if (!candidate[i] || host[i]! >= 0 || to < 0 || attached[to]! >= MOST_ATTACHED) continue;
      if (sources[i] !== wanted || (wanted === 1 && attached[i] !== 1)) continue;
      if (host[to]! >= 0) continue;
      host[i] = to;
      attached[to]!++;
    }
  }
  keepChainsShort(host);
  return host;
}

/** The only child that each child feeds (-1: none or several), and how many children feed it. */
function consumers(graph: ScopeGraph): { consumer: Numbers; sources: Numbers } {
  const consumer = integers(graph.entities.length, -1);
  const sources = integers(graph.entities.length);
  for (let e = 0; e < graph.source.length; e++) {
    const [a, b] = [graph.source[e]!, graph.target[e]!];
    consumer[a] = consumer[a] === -1 ? b : -2;
    sources[b]!++;
  }
  return { consumer, sources };
}

function keepChainsShort(host: Numbers): void {
  for (let i = 0; i < host.length; i++) {
    const first = host[i]!;
    if (first < 0) continue;
    const second = host[first]!;
    if (second >= 0 && host[second]! >= 0) host[i] = -1;
  }
}
