/** Which edges to reverse to break all cycles: few, and light ones. */

import { type Adjacency, adjacency, floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';

/** Larger graphs use a depth-first order: the search below takes quadratic time. */
const MOST_SEARCHED = 3000;

/** 1 for edges to reverse. */
export function edgesToReverse(count: number, source: Numbers, target: Numbers, weight: Numbers): Numbers {
  const turned = backEdges(count, source, target);
  if (count > MOST_SEARCHED || !turned.includes(1)) return turned;
  const place = heavyEdgesFirst(count, source, target, weight);
  for (let e = 0; e < source.length; e++) turned[e] = place[source[e]!]! > place[target[e]!]! ? 1 : 0;
  return turned;
}

/** Edges that close a cycle in a depth-first walk from the sources. */
function backEdges(count: number, source: Numbers, target: Numbers): Numbers {
  const out = adjacency(count, source, target);
  const turned = integers(source.length);
  const state = integers(count);
  const next = out.start.slice();
  const stack: number[] = [];
  const walk = (root: number): void => {
    stack.push(root);
    state[root] = 1;
    while (stack.length) {
      const v = stack[stack.length - 1]!;
      if (next[v]! >= out.start[v + 1]!) {
        state[v] = 2;
        stack.pop();
        continue;
      }
      const at = next[v]!++;
      const w = out.list[at]!;
      if (state[w] === 1) turned[out.edge[at]!] = 1;
      else if (!state[w]) {
        state[w] = 1;
        stack.push(w);
      }
    }
  };
  const incoming = integers(count);
  for (let e = 0; e < target.length; e++) incoming[target[e]!]!++;
  for (let v = 0; v < count; v++) if (!incoming[v] && !state[v]) walk(v);
  for (let v = 0; v < count; v++) if (!state[v]) walk(v);
  return turned;
}

/**
 * An order with light backward edges (Eades, Lin and Smyth): vertices without outputs go last, those without inputs first, otherwise the
 * one with the largest out-weight minus in-weight.
 */
function heavyEdgesFirst(count: number, source: Numbers, target: Numbers, weight: Numbers): Numbers {
  const out = adjacency(count, source, target);
  const into = adjacency(count, target, source);
  const sends = floats(count);
  const takes = floats(count);
  for (let e = 0; e < source.length; e++) {
    sends[source[e]!]! += weight[e]!;
    takes[target[e]!]! += weight[e]!;
  }
  const place = integers(count, -1);
  let [first, last] = [0, count - 1];
  const remove = (v: number, at: number): void => {
    place[v] = at;
    forEach(into, v, (u, e) => {
      sends[u]! -= weight[e]!;
    });
    forEach(out, v, (w, e) => {
      takes[w]! -= weight[e]!;
    });
  };
  while (first <= last) {
    let best = -1;
    let done = false;
    for (let v = 0; v < count; v++) {
      if (place[v]! >= 0) continue;
      if (takes[v]! <= 0) remove(v, first++);
      else if (sends[v]! <= 0) remove(v, last--);
      else {
        if (best < 0 || sends[v]! - takes[v]! > sends[best]! - takes[best]!) best = v;
        continue;
      }
      done = true;
    }
    if (!done && best >= 0) remove(best, first++);
  }
  return place;
}

function forEach({ start, list, edge }: Adjacency, v: number, visit: (other: number, edge: number) => void): void {
  for (let i = start[v]!; i < start[v + 1]!; i++) visit(list[i]!, edge[i]!);
}
