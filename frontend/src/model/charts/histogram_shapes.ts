import type { HistogramRow } from '../wire/answers';
import { barHeights, type HistogramAxis } from './histogram_axis';

/** Outlines of histograms in axis coordinates, ready for Plotly. */
export interface Outline {
  x: number[];
  y: number[];
}

/** A histogram as steps: up at each bucket's left edge, down to zero at both ends. */
export function stepOutline(axis: Pick<HistogramAxis, 'at' | 'scale'>, counts: readonly number[]): Outline {
  const { at } = axis;
  const x: number[] = [at[0] as number];
  const y: number[] = [0];
  barHeights(counts, axis).forEach((height, i) => {
    x.push(at[i] as number, at[i + 1] as number);
    y.push(height, height);
  });
  x.push(at[at.length - 1] as number);
  y.push(0);
  return { x, y };
}

/** The tallest bar without exact zeros, which after a ReLU would dwarf all other bars; with them if there are no others. */
export function tallestBar(
  rows: readonly Pick<HistogramRow, 'counts' | 'zero'>[],
  axis: Pick<HistogramAxis, 'at' | 'zeroBucket' | 'scale'>,
): number {
  const { zeroBucket, scale } = axis;
  const others = rows.flatMap(({ counts, zero }) =>
    barHeights(counts, axis).map((height, i) => (i !== zeroBucket ? height : scale === 'symlog' ? 0 : height - (zero || 0))),
  );
  const most = Math.max(0, ...others);
  // Skips bins with less than one element that result from rounding.
  return most > 1e-6 ? most : Math.max(1, ...rows.flatMap(({ counts }) => barHeights(counts, axis)));
}

/** How many rows high the tallest histogram is, by the number of rows. */
function reach(count: number): number {
  return Math.max(1.5, count * 0.16);
}

/** Exact zeros are clipped a little above all other bars. */
const CUT = 1.15;

interface Ridge extends Outline {
  step: number;
  base: number;
}

/**
 * Histograms of several steps as lines through the middles of their buckets, each raised above the next one, the latest at the bottom in
 * front. Every row is scaled by its own tallest bucket: it shows the shape of a distribution, since the number of elements is constant.
 */
export function ridges(rows: readonly HistogramRow[], axis: Pick<HistogramAxis, 'at' | 'zeroBucket' | 'scale'>): Ridge[] {
  const { at } = axis;
  return rows.map((row, i) => {
    const unit = reach(rows.length) / tallestBar([row], axis);
    const base = rows.length - 1 - i;
    const x = [at[0] as number];
    const y = [base];
    barHeights(row.counts, axis).forEach((height, bucket) => {
      x.push(((at[bucket] as number) + (at[bucket + 1] as number)) / 2);
      y.push(base + Math.min(CUT * reach(rows.length), height * unit));
    });
    x.push(at[at.length - 1] as number);
    y.push(base);
    return { step: row.step, base, x, y };
  });
}

/** Share of the vertical axis for the ridgeline. */
export function ridgeExtent(count: number): [number, number] {
  return [-0.3, count - 1 + CUT * reach(count) + 0.2];
}

/** Evenly spaced rows including the first, the last and that of `step`. */
export function thinRows(rows: readonly HistogramRow[], most: number, step: number | null): HistogramRow[] {
  if (rows.length <= most) return [...rows];
  const chosen = new Set<number>();
  for (let i = 0; i < most; i++) chosen.add(Math.round((i * (rows.length - 1)) / (most - 1)));
  const current = rows.findIndex((row) => row.step === step);
  if (current >= 0) chosen.add(current);
  return [...chosen].sort((a, b) => a - b).map((i) => rows[i] as HistogramRow);
}
