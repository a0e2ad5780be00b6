/** Straightens long edges: their waypoints move to one x for as many ranks as what stands beside them allows. */

import { integers, type Numbers } from '../lib/numbers';
import type { Levels } from './levels';
import type { Problem } from './problem';

const ROUNDS = 2;

/** `distance` is the least distance of two neighbours in a row. */
export function straighten(problem: Problem, levels: Levels, x: Numbers, distance: (left: number, right: number) => number): void {
  if (levels.count === levels.boxes) return;
  const index = integers(levels.count);
  for (const row of levels.rows) for (let i = 0; i < row.length; i++) index[row[i]!] = i;
  const long: number[] = [];
  for (let e = 0; e + 1 < levels.firstSegment.length; e++) if (waypoints(levels, e) > 0) long.push(e);
  long.sort((a, b) => waypoints(levels, b) - waypoints(levels, a) || a - b);
  const room = (v: number): [number, number] => {
    const row = levels.rows[levels.rank[v]!]!;
    const [left, right] = [row[index[v]! - 1], row[index[v]! + 1]];
    const low = left === undefined ? Number.NEGATIVE_INFINITY : x[left]! + distance(left, v);
    const high = right === undefined ? Number.POSITIVE_INFINITY : x[right]! - distance(v, right);
    return [low, high];
  };
  for (let round = 0; round < ROUNDS; round++) for (const edge of long) straightenEdge(problem, levels, x, edge, room);
}

function waypoints(levels: Levels, edge: number): number {
  return levels.firstSegment[edge + 1]! - levels.firstSegment[edge]! - 1;
}

function straightenEdge(problem: Problem, levels: Levels, x: Numbers, edge: number, room: (v: number) => [number, number]): void {
  const [first, end] = [levels.firstSegment[edge]!, levels.firstSegment[edge + 1]! - 1];
  const [upper, lower] = [levels.segmentUpper[first]!, levels.segmentLower[end]!];
  const start = x[upper]! + problem.outOffset[upper]!;
  const goal = x[lower]! + problem.inOffset[lower]!;
  let before = start;
  for (let s = first; s < end; ) {
    let [low, high] = room(levels.segmentLower[s]!);
    let next = s + 1;
    for (; next < end; next++) {
      const [nextLow, nextHigh] = room(levels.segmentLower[next]!);
      if (Math.max(low, nextLow) > Math.min(high, nextHigh)) break;
      [low, high] = [Math.max(low, nextLow), Math.min(high, nextHigh)];
    }
    // Rounding may leave a row tighter than its distances; there nothing can be gained.
    if (low > high) [low, high] = [x[levels.segmentLower[s]!]!, x[levels.segmentLower[s]!]!];
    const wanted = next === end && !(start >= low && start <= high && s === first) ? goal : before;
    const at = Math.min(high, Math.max(low, wanted));
    for (; s < next; s++) x[levels.segmentLower[s]!] = at;
    before = at;
  }
}
