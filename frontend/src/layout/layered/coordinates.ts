/**
 * x of every vertex: each rank in turn moves to where its neighbours above (or below) pull it, by least squares that keep order and
 * distances (isotonic regression by pooling adjacent violators). Waypoints pull harder, so long edges are straight. Then chains are
 * straightened and centred on their branches.
 */

import { type Adjacency, floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import { GAP_X, type LayeredInput } from './layered_input';
import type { Levels } from './levels';

const PASSES = 8;
const PASSES_WITHOUT_WAYPOINTS = 4;
const FARTHEST = 12;
/** Waypoints keep this distance from their neighbours. */
const GAP_WAYPOINT = 10;
/** Weight of vertices without pull, and of those that keep their place. */
const ALONE = 0.05;
const FIXED = 1e6;

export function placeHorizontally(problem: LayeredInput, levels: Levels): Numbers {
  if (levels.rows.every((row) => row.length === 1)) return straightLine(problem, levels);
  const solver = new Rows(problem, levels);
  const passes = levels.hasWaypoints ? PASSES : PASSES_WITHOUT_WAYPOINTS;
  for (let pass = 0; pass < passes; pass++) solver.sweep(pass % 2 === 0, pass >= passes - 2);
  const straight = straighten(problem, levels, solver.x, (left, right) => solver.distance(left, right));
  solver.keep(straight);
  for (const downwards of [true, false]) solver.sweep(downwards, true);
  return solver.x;
}

/** One vertex per rank: each right below the previous one. */
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
  private kept: Numbers;

  constructor(
    private readonly problem: LayeredInput,
    private readonly levels: Levels,
  ) {
    this.x = floats(levels.count);
    this.kept = integers(levels.count);
    for (const row of levels.rows) this.packFromLeft(row);
  }

  /** From now on these vertices (marked 1) do not move. */
  keep(kept: Numbers): void {
    this.kept = kept;
  }

  /** Downwards by the rank above, upwards by the rank below; the last sweeps use both sides. */
  sweep(downwards: boolean, bothSides: boolean): void {
    const { rows, up, down } = this.levels;
    for (let q = 0; q < rows.length; q++) {
      const row = rows[downwards ? q : rows.length - 1 - q]!;
      for (let i = 0; i < row.length; i++) {
        const v = row[i]!;
        this.sum = this.pull = 0;
        if (downwards || bothSides) this.addPull(v, up, true);
        if (!downwards || bothSides) this.addPull(v, down, false);
        const free = this.pull > 0 && !this.kept[v];
        this.want[i] = free ? this.sum / this.pull : this.x[v]!;
        this.weight[i] = this.kept[v] ? FIXED : free ? this.pull : ALONE;
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

  /** Least-squares fit of one row to `want` with minimum distances. */
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

  /** Minimum distance between the centres of two neighbours in a row. */
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

// Straightens chains: long edges, and boxes that each read only the previous one. They move to one x over as many ranks as their
// neighbours allow.

const ROUNDS = 2;
const SHORTEST_CHAIN = 3;

/** `distance` is the minimum distance of two neighbours in a row. Returns 1 for each vertex of a chain. */
function straighten(problem: LayeredInput, levels: Levels, x: Numbers, distance: (left: number, right: number) => number): Numbers {
  const inChain = integers(levels.count);
  if (!levels.hasWaypoints) return inChain;
  const index = integers(levels.count);
  for (const row of levels.rows) for (let i = 0; i < row.length; i++) index[row[i]!] = i;
  const room = (v: number): [number, number] => {
    const row = levels.rows[levels.rank[v]!]!;
    const [left, right] = [row[index[v]! - 1], row[index[v]! + 1]];
    const low = left === undefined ? Number.NEGATIVE_INFINITY : x[left]! + distance(left, v);
    const high = right === undefined ? Number.POSITIVE_INFINITY : x[right]! - distance(v, right);
    // Rounding may leave a row tighter than its minimum distances; it is skipped.
    return low > high ? [x[v]!, x[v]!] : [low, high];
  };
  const found = chains(problem, levels);
  for (let round = 0; round < ROUNDS; round++) for (const chain of found) straightenChain(problem, levels, x, chain, room);
  for (const chain of found) for (const v of chain) inChain[v] = 1;
  return inChain;
}

/** Vertices in a vertical line that no other edge joins or leaves; longest first. */
function chains(problem: LayeredInput, levels: Levels): number[][] {
  const { up, down, boxes, count } = levels;
  const only = (beside: Adjacency, v: number): number =>
    beside.start[v + 1]! - beside.start[v]! === 1 ? beside.list[beside.start[v]!]! : -1;
  // A box whose edges leave at another x than they enter would bend the line.
  const bends = (v: number): boolean => v < boxes && problem.inOffset[v] !== problem.outOffset[v];
  const follows = (v: number): number => {
    const next = only(down, v);
    return next >= 0 && only(up, next) === v && !bends(v) && !bends(next) ? next : -1;
  };
  const found: number[][] = [];
  for (let v = 0; v < count; v++) {
    const before = only(up, v);
    if (before >= 0 && follows(before) === v) continue;
    const chain = [v];
    for (let next = follows(v); next >= 0; next = follows(next)) chain.push(next);
    if (chain.length >= SHORTEST_CHAIN || v >= boxes) found.push(chain);
  }
  return found.sort((a, b) => b.length - a.length || a[0]! - b[0]!);
}

function straightenChain(
  problem: LayeredInput,
  levels: Levels,
  x: Numbers,
  chain: readonly number[],
  room: (v: number) => [number, number],
): void {
  const { boxes, up, down } = levels;
  const ofBoxes = chain.filter((v) => v < boxes).map((v) => x[v]! + problem.inOffset[v]!);
  const inset = (v: number): number => (v < boxes ? problem.inOffset[v]! : 0);
  const span = (v: number): [number, number] => room(v).map((limit) => limit + inset(v)) as [number, number];
  const end = chain.length;
  // A long edge runs straight down from its source if possible, else straight into its target.
  const [above, below] = [up.list[up.start[chain[0]!]!]!, down.list[down.start[chain[end - 1]!]!]!];
  const start = ofBoxes.length > 0 ? median(ofBoxes) : x[above]! + problem.outOffset[above]!;
  const goal = ofBoxes.length > 0 ? start : x[below]! + problem.inOffset[below]!;
  let before = start;
  for (let s = 0; s < end; ) {
    let [low, high] = span(chain[s]!);
    let next = s + 1;
    for (; next < end; next++) {
      const [nextLow, nextHigh] = span(chain[next]!);
      if (Math.max(low, nextLow) > Math.min(high, nextHigh)) break;
      [low, high] = [Math.max(low, nextLow), Math.min(high, nextHigh)];
    }
    const wanted = next === end && !(start >= low && start <= high && s === 0) ? goal : before;
    const at = Math.min(high, Math.max(low, wanted));
    for (; s < next; s++) x[chain[s]!] = at - inset(chain[s]!);
    before = at;
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;
}
