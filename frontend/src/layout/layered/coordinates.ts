/**
 * x of every vertex: each rank in turn is put where its neighbours above (or below) want it, in least squares, keeping
 * order and distances (isotonic regression by pooling neighbours that collide). Waypoints pull harder, so long edges are straight.
 */

import { type Adjacency, floats, integers, type Numbers } from '../../lib/typed_arrays';
import { GAP_X, type LayeredInput } from './layered_input';
import type { Levels } from './levels';

const PASSES = 8;
const PASSES_WITHOUT_WAYPOINTS = 4;
const FARTHEST = 12;
/** Waypoints keep this distance from what stands beside them. */
const GAP_WAYPOINT = 10;
/** Weight of what nothing pulls. */
const ALONE = 0.05;

export function placeHorizontally(problem: LayeredInput, levels: Levels): Numbers {
  if (levels.rows.every((row) => row.length === 1)) return straightLine(problem, levels);
  const solver = new Rows(problem, levels);
  const passes = levels.hasWaypoints ? PASSES : PASSES_WITHOUT_WAYPOINTS;
  for (let pass = 0; pass < passes; pass++) solver.sweep(pass % 2 === 0, pass >= passes - 2);
  straighten(problem, levels, solver.x, (left, right) => solver.distance(left, right));
  return solver.x;
}

/** One vertex a rank: each stands right below the one before. */
function straightLine(problem: LayeredInput, levels: Levels): Numbers {
  const x = floats(levels.count);
  let line = 0;
  for (let rank = 0; rank < levels.rows.length; rank++) {
    const v = levels.rows[rank]![0]!;
    x[v] = rank === 0 ? 0 : line - problem.inOffset[v]!;
    line = x[v]! + problem.outOffset[v]!;
  }
  return x;
}

class Rows {
  readonly x: Numbers;
  // Scratch: rows are fitted by the hundred thousand.
  private readonly want: number[] = [];
  private readonly weight: number[] = [];
  private readonly mean: number[] = [];
  private readonly mass: number[] = [];
  private readonly size: number[] = [];
  private readonly offset: number[] = [];
  private sum = 0;
  private pull = 0;

  constructor(
    private readonly problem: LayeredInput,
    private readonly levels: Levels,
  ) {
    this.x = floats(levels.count);
    for (const row of levels.rows) this.packFromLeft(row);
  }

  /** Downwards by what is above, or upwards by what is below; the last sweeps look at both sides. */
  sweep(downwards: boolean, bothSides: boolean): void {
    const { rows, up, down } = this.levels;
    for (let q = 0; q < rows.length; q++) {
      const row = rows[downwards ? q : rows.length - 1 - q]!;
      for (let i = 0; i < row.length; i++) {
        const v = row[i]!;
        this.sum = this.pull = 0;
        if (downwards || bothSides) this.addPull(v, up, true);
        if (!downwards || bothSides) this.addPull(v, down, false);
        this.want[i] = this.pull > 0 ? this.sum / this.pull : this.x[v]!;
        this.weight[i] = this.pull > 0 ? this.pull : ALONE;
      }
      this.fit(row);
    }
  }

  private addPull(v: number, beside: Adjacency, above: boolean): void {
    const { rank, boxes } = this.levels;
    for (let i = beside.start[v]!; i < beside.start[v + 1]!; i++) {
      const w = beside.list[i]!;
      const distance = Math.abs(rank[w]! - rank[v]!);
      if (distance > FARTHEST && !this.levels.hasWaypoints) continue;
      const waypoints = Number(v >= boxes) + Number(w >= boxes);
      const weight = (waypoints === 2 ? 8 : waypoints === 1 ? 2 : 1) / Math.max(1, distance);
      const at = above ? this.x[w]! + this.out(w) - this.into(v) : this.x[w]! + this.into(w) - this.out(v);
      this.sum += at * weight;
      this.pull += weight;
    }
  }

  private packFromLeft(row: number[]): void {
    let right = 0;
    for (let i = 0; i < row.length; i++) {
      if (i > 0) right += this.distance(row[i - 1]!, row[i]!);
      this.x[row[i]!] = right;
    }
    for (const v of row) this.x[v]! -= right / 2;
  }

  /** Least squares fit of one row to `want`, no two closer than their distance. */
  private fit(row: number[]): void {
    const { want, weight, mean, mass, size, offset } = this;
    let blocks = 0;
    let run = 0;
    for (let i = 0; i < row.length; i++) {
      if (i > 0) run += this.distance(row[i - 1]!, row[i]!);
      offset[i] = run;
      mean[blocks] = want[i]! - run;
      mass[blocks] = weight[i]!;
      size[blocks++] = 1;
      while (blocks > 1 && mean[blocks - 2]! > mean[blocks - 1]!) this.poolLast(--blocks);
    }
    let i = 0;
    for (let block = 0; block < blocks; block++) {
      for (let k = 0; k < size[block]!; k++, i++) this.x[row[i]!] = mean[block]! + offset[i]!;
    }
  }

  /** Joins a block with the one before it. */
  private poolLast(block: number): void {
    const { mean, mass, size } = this;
    const [m, n] = [mass[block - 1]!, mass[block]!];
    mean[block - 1] = (mean[block - 1]! * m + mean[block]! * n) / (m + n);
    mass[block - 1] = m + n;
    size[block - 1]! += size[block]!;
  }

  /** Least distance of the middles of two neighbours in a row. */
  distance(left: number, right: number): number {
    const waypoints = left >= this.levels.boxes || right >= this.levels.boxes;
    return (this.width(left) + this.width(right)) / 2 + (waypoints ? GAP_WAYPOINT : GAP_X);
  }

  private width(v: number): number {
    return v < this.levels.boxes ? this.problem.width[v]! : 0;
  }

  private into(v: number): number {
    return v < this.levels.boxes ? this.problem.inOffset[v]! : 0;
  }

  private out(v: number): number {
    return v < this.levels.boxes ? this.problem.outOffset[v]! : 0;
  }
}

// Straightens long edges: their waypoints move to one x for as many ranks as what stands beside them allows.

const ROUNDS = 2;

/** `distance` is the least distance of two neighbours in a row. */
function straighten(problem: LayeredInput, levels: Levels, x: Numbers, distance: (left: number, right: number) => number): void {
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

function straightenEdge(problem: LayeredInput, levels: Levels, x: Numbers, edge: number, room: (v: number) => [number, number]): void {
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
