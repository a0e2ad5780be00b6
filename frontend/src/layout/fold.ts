/** Folds tall layouts: ranks are cut into columns that stand side by side, so that a chain of a hundred blocks is not a one-pixel tower. */

/** Lower than this stays one column, whatever its proportions. */
const TALL = 1500;
const STEEP = 3.2;
/** Wanted height by width of a folded layout. */
const PROPORTION = 0.7;
/** With scopes opened, the cut stays as it is up to this steepness, what one looks at stays put; less where it fills many screens. */
const STEEPEST = 8;
const MANY_SCREENS = 8000;
const FEWEST_RANKS = 3;
/** One more column has to gain at least this. */
const BETTER = 0.97;
/** A column ends at most this part of its height off. */
const TOLERANCE = 0.25;

export interface RowSizes {
  /** Height of each rank, the gap below it included, and its width. */
  readonly height: readonly number[];
  readonly width: readonly number[];
}

/** First rank of each column. `crossing[r]`: edges between ranks r and r + 1. */
export function foldRanks(rest: RowSizes, now: RowSizes, crossing: readonly number[]): number[] {
  const cuts = cut(rest, crossing, FEWEST_RANKS);
  const { width, height } = folded(now, cuts);
  const steepest = height > MANY_SCREENS ? STEEP : STEEPEST;
  return height > TALL && height > steepest * width ? cut(now, crossing, 1) : cuts;
}

/** Of about as many columns as the proportion asks for, the cut that fits best onto a screen. */
function cut(rows: RowSizes, crossing: readonly number[], fewestRanks: number): number[] {
  const count = rows.height.length;
  const height = sum(rows.height);
  const width = Math.max(...sampled(rows.width));
  if (height < TALL || height < STEEP * width || count < 2 * fewestRanks) return [0];
  const wanted = Math.round(Math.sqrt(height / width / PROPORTION));
  let best = { size: Number.POSITIVE_INFINITY, starts: [0] };
  const most = Math.floor(count / fewestRanks);
  // Of few tall ranks there may be fewer than columns are wanted: then each gets its own.
  for (let columns = Math.max(2, Math.min(wanted - 1, most)); columns <= Math.min(wanted + 1, most); columns++) {
    const starts = cutInto(columns, height, rows, crossing);
    const size = folded(rows, starts);
    const scale = Math.max(size.width * PROPORTION, size.height);
    if (scale < best.size * BETTER) best = { size: scale, starts };
  }
  return best.starts;
}

/** Columns of nearly equal height; a little off where fewer edges cross there. */
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

/** Math.max takes its arguments from the stack; a hundred thousand ranks would not fit. */
function sampled(numbers: readonly number[]): readonly number[] {
  return numbers.length <= 10_000 ? numbers : [numbers.reduce((a, b) => Math.max(a, b), 0)];
}
