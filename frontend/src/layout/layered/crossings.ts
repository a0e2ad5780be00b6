/** Orders the vertices of each rank for few crossings: barycentre sweeps, then swaps of neighbours; keeps the best order. */

import { type Adjacency, floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import type { Levels } from './levels';

const SWEEPS = 10;
const SWEEPS_WITHOUT_WAYPOINTS = 4;
/** If edges span ranks, neighbours beyond this distance do not pull. */
const FARTHEST = 12;

export function reduceCrossings(levels: Levels): void {
  const { rows } = levels;
  if (rows.every((row) => row.length < 2)) return;
  const position = floats(levels.count);
  for (const row of rows) place(row, position, !levels.hasWaypoints);
  if (!levels.hasWaypoints) {
    for (let sweep = 0; sweep < SWEEPS_WITHOUT_WAYPOINTS; sweep++) sortRows(levels, position, sweep, true);
    return;
  }
  let fewest = countCrossings(levels, position);
  let best = rows.map((row) => row.slice());
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    sortRows(levels, position, sweep, false);
    swapNeighbours(levels, position);
    const crossings = countCrossings(levels, position);
    if (crossings >= fewest) continue;
    fewest = crossings;
    best = rows.map((row) => row.slice());
  }
  best.forEach((row, r) => {
    rows[r] = row;
  });
}

/** Positions in a row, centred, so that rows of any width compare. */
function place(row: number[], position: Numbers, centred: boolean): void {
  const middle = centred ? (row.length - 1) / 2 : 0;
  for (let i = 0; i < row.length; i++) position[row[i]!] = i - middle;
}

function sortRows(levels: Levels, position: Numbers, sweep: number, centred: boolean): void {
  const { rows } = levels;
  const downwards = sweep % 2 === 0;
  const beside = downwards ? levels.up : levels.down;
  const centre = floats(levels.count);
  // Ties keep their order in one pair of sweeps and reverse it in the next, to leave local minima.
  const tie = sweep & 2 && !centred ? -1 : 1;
  for (let q = 0; q < rows.length; q++) {
    const row = rows[downwards ? q : rows.length - 1 - q]!;
    if (row.length < 2) continue;
    for (const v of row) centre[v] = barycentre(v, beside, position, levels.rank);
    row.sort((a, b) => centre[a]! - centre[b]! || tie * (position[a]! - position[b]!));
    place(row, position, centred);
  }
}

function barycentre(v: number, beside: Adjacency, position: Numbers, rank: Numbers): number {
  let sum = 0;
  let weights = 0;
  for (let i = beside.start[v]!; i < beside.start[v + 1]!; i++) {
    const w = beside.list[i]!;
    const distance = Math.abs(rank[w]! - rank[v]!);
    const weight = distance <= 1 ? 1 : distance <= FARTHEST ? 1 / distance : 0;
    sum += position[w]! * weight;
    weights += weight;
  }
  return weights ? sum / weights : position[v]!;
}

function swapNeighbours(levels: Levels, position: Numbers): void {
  for (const row of levels.rows) {
    for (let i = 0; i + 1 < row.length; i++) {
      const [a, b] = [row[i]!, row[i + 1]!];
      const now = crossingsOf(a, b, levels.up, position) + crossingsOf(a, b, levels.down, position);
      if (now === 0) continue;
      const swapped = crossingsOf(b, a, levels.up, position) + crossingsOf(b, a, levels.down, position);
      if (swapped >= now) continue;
      row[i] = b;
      row[i + 1] = a;
      position[b] = i;
      position[a] = i + 1;
    }
  }
}

/** Crossings between the edges of `a` and `b` with `a` on the left. */
function crossingsOf(a: number, b: number, beside: Adjacency, position: Numbers): number {
  let crossings = 0;
  for (let i = beside.start[a]!; i < beside.start[a + 1]!; i++) {
    const left = position[beside.list[i]!]!;
    for (let j = beside.start[b]!; j < beside.start[b + 1]!; j++) {
      if (left > position[beside.list[j]!]!) crossings++;
    }
  }
  return crossings;
}

/** All crossings, by one accumulator tree per row (Barth, Jünger, Mutzel). */
function countCrossings(levels: Levels, position: Numbers): number {
  let crossings = 0;
  for (let r = 1; r < levels.rows.length; r++)
    crossings += crossingsAbove(levels.rows[r]!, levels.rows[r - 1]!.length, levels.up, position);
  return crossings;
}

function crossingsAbove(row: number[], width: number, up: Adjacency, position: Numbers): number {
  let size = 1;
  while (size < width) size *= 2;
  const tree = integers(2 * size);
  let crossings = 0;
  const above: number[] = [];
  for (const v of row) {
    above.length = 0;
    for (let i = up.start[v]!; i < up.start[v + 1]!; i++) above.push(position[up.list[i]!]!);
    if (above.length > 1) above.sort((a, b) => a - b);
    for (const at of above) {
      let i = at + size;
      tree[i]!++;
      while (i > 1) {
        if (i % 2 === 0) crossings += tree[i + 1]!;
        i >>= 1;
        tree[i]!++;
      }
    }
  }
  return crossings;
}
