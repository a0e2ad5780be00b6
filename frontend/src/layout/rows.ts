/** Where each rank stands: its top, its height, its column. */

import type { Numbers } from '../lib/numbers';
import { foldRanks } from './fold';
import type { Levels } from './levels';
import { GAP_X, GAP_Y, type Problem } from './problem';

/** Steeper curves need room: a gap grows with the widest sidestep in it, up to this. */
const WIDEST_GAP = 90;
const GAP_BY_SIDESTEP = 0.09;
const GUTTER = 30;
const LANE = 6;
const MOST_LANES = 12;

export interface Column {
  readonly firstRank: number;
  readonly endRank: number;
  /** To add to x of what stands in this column. */
  readonly shift: number;
  /** Left edge of the gutter on the column's right, and the lanes in it. */
  readonly gutter: number;
  readonly lanes: number;
}

export interface Rows {
  readonly top: number[];
  readonly height: number[];
  readonly columnOf: number[];
  readonly columns: readonly Column[];
  readonly width: number;
  readonly total: number;
}

export function placeRows(problem: Problem, levels: Levels, x: Numbers): Rows {
  const ranks = levels.rows.length;
  const height = rowHeights(problem.height, levels);
  const { gap, crossing } = gaps(problem, levels, x);
  const withGap = (heights: readonly number[]): number[] => heights.map((h, r) => h + gap[r]!);
  const rest = { height: rowHeights(problem.restHeight, levels).map((h) => h + GAP_Y), width: rowWidths(problem.restWidth, levels) };
  const now = { height: withGap(height), width: rowWidths(problem.width, levels) };
  const starts = foldRanks(rest, now, crossing);
  const columns = placeColumns(problem, levels, x, starts, crossing);
  const top = new Array<number>(ranks).fill(0);
  const columnOf = new Array<number>(ranks).fill(0);
  let total = 0;
  columns.forEach((column, c) => {
    let y = columns.length > 1 ? GAP_Y / 2 : 0;
    for (let rank = column.firstRank; rank < column.endRank; rank++) {
      top[rank] = y;
      columnOf[rank] = c;
      total = Math.max(total, y + height[rank]!);
      y += now.height[rank]!;
    }
  });
  if (columns.length > 1) total += GAP_Y / 2;
  const last = columns[columns.length - 1]!;
  return { top, height, columnOf, columns, width: last.gutter, total };
}

function rowHeights(height: Numbers, levels: Levels): number[] {
  return levels.rows.map((row) => {
    let highest = 0;
    for (const v of row) if (v < levels.boxes && height[v]! > highest) highest = height[v]!;
    return highest;
  });
}

function rowWidths(width: Numbers, levels: Levels): number[] {
  return levels.rows.map((row) => {
    let sum = -GAP_X;
    for (const v of row) sum += (v < levels.boxes ? width[v]! : 0) + GAP_X;
    return sum;
  });
}

/** Room below each rank, and how many edges run through it. */
function gaps(problem: Problem, levels: Levels, x: Numbers): { gap: number[]; crossing: number[] } {
  const ranks = levels.rows.length;
  const sidestep = new Array<number>(ranks).fill(0);
  const begins = new Array<number>(ranks + 1).fill(0);
  for (let s = 0; s < levels.segmentUpper.length; s++) {
    const [u, l] = [levels.segmentUpper[s]!, levels.segmentLower[s]!];
    const from = x[u]! + (u < levels.boxes ? problem.outOffset[u]! : 0);
    const to = x[l]! + (l < levels.boxes ? problem.inOffset[l]! : 0);
    const rank = levels.rank[u]!;
    sidestep[rank] = Math.max(sidestep[rank]!, Math.abs(to - from));
    begins[rank]!++;
    begins[levels.rank[l]!]!--;
  }
  let running = 0;
  const crossing = sidestep.map((_, rank) => {
    running += begins[rank]!;
    return running;
  });
  const gap = sidestep.map((step) => GAP_Y + Math.min(WIDEST_GAP - GAP_Y, step * GAP_BY_SIDESTEP));
  return { gap, crossing };
}

function placeColumns(problem: Problem, levels: Levels, x: Numbers, starts: readonly number[], crossing: readonly number[]): Column[] {
  let left = 0;
  return starts.map((firstRank, c) => {
    const endRank = starts[c + 1] ?? levels.rows.length;
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let rank = firstRank; rank < endRank; rank++) {
      for (const v of levels.rows[rank]!) {
        const half = v < levels.boxes ? problem.width[v]! / 2 : 0;
        low = Math.min(low, x[v]! - half);
        high = Math.max(high, x[v]! + half);
      }
    }
    const lanes = endRank < levels.rows.length ? Math.min(MOST_LANES, crossing[endRank - 1]!) : 0;
    const shift = left - low;
    const gutter = high + shift;
    left = gutter + GUTTER + lanes * LANE;
    return { firstRank, endRank, shift, gutter, lanes };
  });
}

/** x of a lane in the gutter right of a column. */
export function laneX(column: Column, lane: number): number {
  return column.gutter + GUTTER / 2 + (column.lanes ? lane % column.lanes : 0) * LANE;
}
