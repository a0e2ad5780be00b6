/**
 * Vertices in their ranks, with a waypoint wherever an edge crosses a rank, so that long edges run between boxes. Very dense or large
 * problems have no waypoints (their number grows with edges times ranks).
 */

import { type Adjacency, adjacency, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import type { Ranks } from './ranks';

export interface Levels {
  /** Boxes, followed by waypoints. */
  readonly count: number;
  readonly boxes: number;
  readonly rank: Numbers;
  /** Vertices of each rank from left to right. */
  readonly rows: number[][];
  /** Segments: edges cut at their waypoints. They join neighbouring ranks, unless there are no waypoints. */
  readonly up: Adjacency;
  readonly down: Adjacency;
  /** First segment of each edge; its other segments follow. */
  readonly firstSegment: Numbers;
  readonly segmentUpper: Numbers;
  readonly segmentLower: Numbers;
  readonly hasWaypoints: boolean;
}

const WAYPOINTS_PER_BOX = 4;
const WAYPOINTS_FREE = 400;
const MOST_BOXES = 1500;

export function buildLevels(boxes: number, ranks: Ranks): Levels {
  const { rank: boxRank, upper, lower } = ranks;
  let waypoints = 0;
  for (let e = 0; e < upper.length; e++) waypoints += Math.max(0, boxRank[lower[e]!]! - boxRank[upper[e]!]! - 1);
  const hasWaypoints = boxes <= MOST_BOXES && waypoints <= WAYPOINTS_PER_BOX * boxes + WAYPOINTS_FREE;
  if (!hasWaypoints) waypoints = 0;
  const count = boxes + waypoints;
  const rank = integers(count);
  for (let v = 0; v < boxes; v++) rank[v] = boxRank[v]!;
  const segmentUpper = integers(upper.length + waypoints);
  const segmentLower = integers(upper.length + waypoints);
  const firstSegment = integers(upper.length + 1);
  let segment = 0;
  let waypoint = boxes;
  for (let e = 0; e < upper.length; e++) {
    firstSegment[e] = segment;
    let above = upper[e]!;
    for (let r = boxRank[above]! + 1; hasWaypoints && r < boxRank[lower[e]!]!; r++) {
      rank[waypoint] = r;
      segmentUpper[segment] = above;
      segmentLower[segment++] = waypoint;
      above = waypoint++;
    }
    segmentUpper[segment] = above;
    segmentLower[segment++] = lower[e]!;
  }
  firstSegment[upper.length] = segment;
  const down = adjacency(count, segmentUpper, segmentLower);
  const up = adjacency(count, segmentLower, segmentUpper);
  const rows = firstRows(count, boxes, rank, ranks, up);
  return { count, boxes, rank, rows, up, down, firstSegment, segmentUpper, segmentLower, hasWaypoints };
}

/** Boxes in topological order; each waypoint after the source of its edge. */
function firstRows(count: number, boxes: number, rank: Numbers, ranks: Ranks, up: Adjacency): number[][] {
  const rows: number[][] = Array.from({ length: ranks.count }, () => []);
  const position = integers(count);
  for (let i = 0; i < boxes; i++) position[ranks.order[i]!] = i;
  for (let w = boxes; w < count; w++) position[w] = position[up.list[up.start[w]!]!]!;
  for (let i = 0; i < boxes; i++) rows[rank[ranks.order[i]!]!]!.push(ranks.order[i]!);
  if (count === boxes) return rows;
  for (let w = boxes; w < count; w++) rows[rank[w]!]!.push(w);
  for (const row of rows) row.sort((a, b) => position[a]! - position[b]! || a - b);
  return rows;
}
