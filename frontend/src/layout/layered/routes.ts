/** Edges as polylines: down from a box, through waypoints, into the next box; around columns if ranks are folded. */

import { floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import type { LayeredInput } from './layered_input';
import type { Levels } from './levels';
import type { Ranks } from './ranks';
import { laneX, type Rows } from './rows';

/** Distance of arrows side by side on a box, and the share of its width they may use. */
const PORT_STEP = 9;
const PORT_SHARE = 0.5;
/** Distance at which edges around columns leave and enter ranks. */
const ELBOW = 9;

export function routeEdges(problem: LayeredInput, ranks: Ranks, levels: Levels, rows: Rows, x: Numbers, y: Numbers): number[][] {
  const port = inPorts(problem, levels, x);
  const geometry = new Geometry(problem, levels, rows, x, y, port);
  const routes: number[][] = [];
  for (let e = 0; e < ranks.upper.length; e++) {
    const route: number[] = [];
    const end = levels.firstSegment[e + 1]!;
    for (let s = levels.firstSegment[e]!; s < end; s++) geometry.addSegment(route, s, e);
    routes.push(ranks.turned[e] ? reversed(route) : route);
  }
  return routes;
}

/** Offset of each segment's end from the entry point of its box, so that arrows stand side by side in the order of their sources. */
function inPorts(problem: LayeredInput, levels: Levels, x: Numbers): Numbers {
  const port = floats(levels.segmentUpper.length);
  const { start, list, edge } = levels.up;
  for (let v = 0; v < levels.boxes; v++) {
    const arrivals = start[v + 1]! - start[v]!;
    if (arrivals < 2 || problem.plug[v]) continue;
    const step = Math.min(PORT_STEP, (problem.width[v]! * PORT_SHARE) / arrivals);
    const order = integers(arrivals);
    for (let i = 0; i < arrivals; i++) order[i] = start[v]! + i;
    order.sort((a, b) => x[list[a]!]! - x[list[b]!]! || a - b);
    for (let i = 0; i < arrivals; i++) port[edge[order[i]!]!] = (i - (arrivals - 1) / 2) * step;
  }
  return port;
}

class Geometry {
  constructor(
    private readonly problem: LayeredInput,
    private readonly levels: Levels,
    private readonly rows: Rows,
    private readonly x: Numbers,
    private readonly y: Numbers,
    private readonly port: Numbers,
  ) {}

  addSegment(route: number[], segment: number, lane: number): void {
    const { levels, rows, problem } = this;
    const [u, l] = [levels.segmentUpper[segment]!, levels.segmentLower[segment]!];
    const [upperRank, lowerRank] = [levels.rank[u]!, levels.rank[l]!];
    const fromX = this.x[u]! + (u < levels.boxes ? problem.outOffset[u]! : 0);
    const toX = this.x[l]! + (l < levels.boxes ? problem.inOffset[l]! + this.port[segment]! : 0);
    const fromY = rows.top[upperRank]! + rows.height[upperRank]!;
    const toY = rows.top[lowerRank]!;
    if (u < levels.boxes) add(route, fromX, this.y[u]! + problem.height[u]! / 2 - problem.inset[u]!);
    add(route, fromX, fromY);
    this.aroundColumns(route, [fromX, fromY, rows.columnOf[upperRank]!], [toX, toY, rows.columnOf[lowerRank]!], lane);
    add(route, toX, toY);
    if (l < levels.boxes) add(route, toX, this.y[l]! - problem.height[l]! / 2 + problem.inset[l]!);
    else add(route, toX, toY + rows.height[lowerRank]!);
  }

  /** Through the gutter right of the source's column, over the columns in between, and down left of the target's. */
  private aroundColumns(route: number[], from: [number, number, number], to: [number, number, number], lane: number): void {
    const [fromX, fromY, fromColumn] = from;
    const [toX, toY, toColumn] = to;
    if (fromColumn === toColumn) return;
    const out = laneX(this.rows.columns[fromColumn]!, lane);
    add(route, fromX, fromY + ELBOW);
    add(route, out, fromY + ELBOW);
    if (toColumn !== fromColumn + 1) {
      const down = laneX(this.rows.columns[toColumn - 1]!, lane);
      add(route, out, 0);
      add(route, down, 0);
      add(route, down, toY - ELBOW);
    } else add(route, out, toY - ELBOW);
    add(route, toX, toY - ELBOW);
  }
}

function add(route: number[], x: number, y: number): void {
  const n = route.length;
  if (n >= 2 && route[n - 2] === x && Math.abs(route[n - 1]! - y) < 0.5) return;
  // The middle point of a straight line is redundant.
  if (n >= 4 && route[n - 2] === x && route[n - 4] === x) route.length = n - 2;
  route.push(x, y);
}

function reversed(route: readonly number[]): number[] {
  const back: number[] = [];
  for (let i = route.length - 2; i >= 0; i -= 2) back.push(route[i]!, route[i + 1]!);
  return back;
}
