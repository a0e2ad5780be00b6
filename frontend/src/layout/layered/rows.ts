/** Position of each rank: its top, height and column. */

import type { Numbers } from '../../lib/arrays/typed_arrays';
import { type Folding, GAP_X, GAP_Y, type LayeredInput } from './layered_input';
import type { Levels } from './levels';

/** Steep curves need room: a gap grows with the widest horizontal offset in it, up to this. */
const WIDEST_GAP = 90;
const GAP_BY_SIDESTEP = 0.09;
const GUTTER = 30;
const LANE = 6;
const MOST_LANES = 12;

interface Column {
  readonly firstRank: number;
  readonly endRank: number;
  /** x offset of this column. */
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

export function placeRows(problem: LayeredInput, levels: Levels, x: Numbers): Rows {
  const ranks = levels.rows.length;
  const height = rowHeights(problem.height, levels);
  const { gap, crossing } = gaps(problem, levels, x);
  const withGap = (heights: readonly number[]): number[] => heights.map((h, r) => h + gap[r]!);
  const rest = { height: rowHeights(problem.restHeight, levels).map((h) => h + GAP_Y), width: rowWidths(problem.restWidth, levels) };
  const now = { height: withGap(height), width: rowWidths(problem.width, levels) };
  const starts = foldRanks(rest, now, crossing, problem.folding);
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

/** Space below each rank, and how many edges run through it. */
function gaps(problem: LayeredInput, levels: Levels, x: Numbers): { gap: number[]; crossing: number[] } {
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

function placeColumns(problem: LayeredInput, levels: Levels, x: Numbers, starts: readonly number[], crossing: readonly number[]): Column[] {
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

// Folds tall layouts: ranks are cut into columns side by side, so that a chain of a hundred blocks is not a one-pixel tower.

/** Layouts of this many pixels need not stay stable. */
const MANY_SCREENS = 8000;
const FEWEST_RANKS = 3;
/** One more column must improve the fit by at least this. */
const BETTER = 0.97;
/** A column may deviate from equal height by this share. */
const TOLERANCE = 0.25;

interface RowSizes {
  /** Height of each rank, including the gap below it, and its width. */
  readonly height: readonly number[];
  readonly width: readonly number[];
}

/** First rank of each column. `crossing[r]`: edges between ranks r and r + 1. */
export function foldRanks(rest: RowSizes, now: RowSizes, crossing: readonly number[], folding: Folding): number[] {
  const cuts = cut(rest, crossing, folding, FEWEST_RANKS);
  const { width, height } = folded(now, cuts);
  const steepest = height > MANY_SCREENS ? folding.steep : folding.steepest;
  return height > folding.tall && height > steepest * width ? cut(now, crossing, folding, 1) : cuts;
}

/** The cut that fits a screen best, of about as many columns as the proportion suggests. */
function cut(rows: RowSizes, crossing: readonly number[], { tall, steep, proportion }: Folding, fewestRanks: number): number[] {
  const count = rows.height.length;
  const height = sum(rows.height);
  const width = Math.max(...sampled(rows.width));
  if (height < tall || height < steep * width || count < 2 * fewestRanks) return [0];
  const wanted = Math.round(Math.sqrt(height / width / proportion));
  let best = { size: Number.POSITIVE_INFINITY, starts: [0] };
  const most = Math.floor(count / fewestRanks);
  // With few tall ranks there may be fewer ranks than columns: then each rank gets a column.
  for (let columns = Math.max(2, Math.min(wanted - 1, most)); columns <= Math.min(wanted + 1, most); columns++) {
    const starts = cutInto(columns, height, rows, crossing);
    const size = folded(rows, starts);
    const scale = Math.max(size.width * proportion, size.height);
    if (scale < best.size * BETTER) best = { size: scale, starts };
  }
  return best.starts;
}

/** Columns of nearly equal height; cuts move a little to where fewer edges cross. */
function cutInto(columns: number, height: number, rows: RowSizes, crossing: readonly number[]): number[] {
  const starts = [0];
  const goal = height / columns;
  let y = rows.height[0]!;
  let rank = 1;
  for (let column = 1; column < columns; column++) {
    let best = { cost: Number.POSITIVE_INFINITY, rank: -1, y };
    for (; rank < rows.height.length && y <= goal * (column + TOLERANCE); y += rows.height[rank++]!) {
      const off = Math.abs(y - goal * column) / goal;
      const cost = (crossing[rank - 1] ?? 0) + 12 * off;
      if (off < TOLERANCE && cost < best.cost) best = { cost, rank, y };
    }
    if (rank === rows.height.length && best.rank < 0) break;
    if (best.rank < 0) best = { cost: 0, rank, y };
    starts.push(best.rank);
    rank = best.rank + 1;
    y = best.y + rows.height[best.rank]!;
  }
  return starts;
}

function folded(rows: RowSizes, starts: readonly number[]): { width: number; height: number } {
  let [width, height] = [0, 0];
  starts.forEach((start, i) => {
    const end = starts[i + 1] ?? rows.height.length;
    width += Math.max(...sampled(rows.width.slice(start, end)));
    height = Math.max(height, sum(rows.height.slice(start, end)));
  });
  return { width, height };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** Math.max takes its arguments from the stack, which does not fit a hundred thousand ranks. */
function sampled(numbers: readonly number[]): readonly number[] {
  return numbers.length <= 10_000 ? numbers : [numbers.reduce((a, b) => Math.max(a, b), 0)];
}
