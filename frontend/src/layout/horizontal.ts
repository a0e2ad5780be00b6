/**
 * x of every vertex: each rank in turn is put where its neighbours above (or below) want it, in least squares, keeping
 * order and distances (isotonic regression by pooling neighbours that collide). Waypoints pull harder, so long edges are straight.
 */

import { type Adjacency, floats, type Numbers } from '../lib/numbers';
import type { Levels } from './levels';
import { GAP_X, type Problem } from './problem';
import { straighten } from './straighten';

const PASSES = 8;
const PASSES_WITHOUT_WAYPOINTS = 4;
const FARTHEST = 12;
/** Waypoints keep this distance from what stands beside them. */
const GAP_WAYPOINT = 10;

export function placeHorizontally(problem: Problem, levels: Levels): Numbers {
  const solver = new Rows(problem, levels);
  const passes = levels.hasWaypoints ? PASSES : PASSES_WITHOUT_WAYPOINTS;
  for (let pass = 0; pass < passes; pass++) solver.sweep(pass % 2 === 0, pass >= passes - 2);
  straighten(problem, levels, solver.x, (left, right) => solver.distance(left, right));
  return solver.x;
}

class Rows {
  readonly x: Numbers;

  constructor(
    private readonly problem: Problem,
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
      const want: number[] = [];
      const weight: number[] = [];
      for (const v of row) {
        const pull = { sum: 0, weight: 0 };
        if (downwards || bothSides) this.addPull(pull, v, up, true);
        if (!downwards || bothSides) this.addPull(pull, v, down, false);
        want.push(pull.weight > 0 ? pull.sum / pull.weight : this.x[v]!);
        weight.push(pull.weight > 0 ? pull.weight : 0.05);
      }
      this.fit(row, want, weight);
    }
  }

  private addPull(pull: { sum: number; weight: number }, v: number, beside: Adjacency, above: boolean): void {
    const { rank, boxes } = this.levels;
    for (let i = beside.start[v]!; i < beside.start[v + 1]!; i++) {
      const w = beside.list[i]!;
      const distance = Math.abs(rank[w]! - rank[v]!);
      if (distance > FARTHEST && !this.levels.hasWaypoints) continue;
      const waypoints = Number(v >= boxes) + Number(w >= boxes);
      const weight = (waypoints === 2 ? 8 : waypoints === 1 ? 2 : 1) / Math.max(1, distance);
      const at = above ? this.x[w]! + this.out(w) - this.into(v) : this.x[w]! + this.into(w) - this.out(v);
      pull.sum += at * weight;
      pull.weight += weight;
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
  private fit(row: number[], want: number[], weight: number[]): void {
    const mean: number[] = [];
    const mass: number[] = [];
    const size: number[] = [];
    const offset: number[] = [];
    let run = 0;
    for (let i = 0; i < row.length; i++) {
      if (i > 0) run += this.distance(row[i - 1]!, row[i]!);
      offset.push(run);
      mean.push(want[i]! - run);
      mass.push(weight[i]!);
      size.push(1);
      while (mean.length > 1 && mean[mean.length - 2]! > mean[mean.length - 1]!) poolLastTwo(mean, mass, size);
    }
    let i = 0;
    for (let block = 0; block < mean.length; block++) {
      for (let k = 0; k < size[block]!; k++, i++) this.x[row[i]!] = mean[block]! + offset[i]!;
    }
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

function poolLastTwo(mean: number[], mass: number[], size: number[]): void {
  const [m, w, n] = [mean.pop()!, mass.pop()!, size.pop()!];
  const last = mean.length - 1;
  mean[last] = (mean[last]! * mass[last]! + m * w) / (mass[last]! + w);
  mass[last]! += w;
  size[last]! += n;
}
