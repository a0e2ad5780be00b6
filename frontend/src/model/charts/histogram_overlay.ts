import { formatNumber } from '../../lib/text/format';
import type { HistogramRow, Histograms } from '../wire/answers';
import { barHeights, type HistogramAxis, histogramAxis, octavesOf } from './histogram_axis';
import { type Outline, stepOutline, tallestBar, thinRows } from './histogram_shapes';

/** Maximum number of overlaid outlines that can be distinguished. */
export const MOST_OUTLINES = 30;

/** The outline of a step's histogram, through the middles of its buckets; it starts and ends at zero. */
export interface StepOutline extends Outline {
  step: number;
  /** Bucket range and count of each point. */
  buckets: { range: string; count: number }[];
  /** Position between the first step (0) and the last one (1). */
  age: number;
}

export interface Overlay {
  axis: HistogramAxis;
  /** In the order of their steps. */
  outlines: StepOutline[];
  /** Top of the bars; those of exact zeros may exceed it. */
  top: number;
  /** Number of steps to choose from. */
  of: number;
}

/**
 * Histograms of several steps with common scales: `MOST_OUTLINES` evenly spaced steps including the first, the last and `step`, which
 * comes from `alone` if the server thinned it out.
 */
export function overlay(data: Histograms, alone: Histograms | null, step: number | null, scale: HistogramAxis['scale']): Overlay {
  const found = data.rows.some((row) => row.step === step);
  const own = found ? undefined : alone?.rows.find((row) => row.step === step);
  const joined = own && alone ? join(data, alone, own, scale) : data;
  const axis = histogramAxis(joined, scale);
  const rows = thinRows(joined.rows, MOST_OUTLINES, step);
  return {
    axis,
    outlines: rows.map((row, i) => outline(row, joined, axis, rows.length < 2 ? 1 : i / (rows.length - 1))),
    top: tallestBar(rows, axis),
    of: Math.max(data.thinned_from ?? 0, joined.rows.length),
  };
}

/** The outlines in drawing order: the current step last, on top. */
export function outlinesInFront(outlines: readonly StepOutline[], step: number | null): StepOutline[] {
  return [...outlines.filter((one) => one.step !== step), ...outlines.filter((one) => one.step === step)];
}

function outline(row: HistogramRow, { edges }: Histograms, axis: HistogramAxis, age: number): StepOutline {
  const { at, scale, zeroBucket } = axis;
  const buckets = row.counts.map((count, i) => {
    const range = `${formatNumber(edges[i] as number)} … ${formatNumber(edges[i + 1] as number)}`;
    return { range: scale === 'symlog' && i === zeroBucket ? 'exactly 0' : range, count };
  });
  const middles = row.counts.map((_, i) => ((at[i] as number) + (at[i + 1] as number)) / 2);
  const ends = <T>(list: readonly T[]) => [list[0], ...list, list[list.length - 1]].filter((one) => one !== undefined) as T[];
  return {
    step: row.step,
    x: middles.length === 0 ? [] : [at[0] as number, ...middles, at[at.length - 1] as number],
    y: middles.length === 0 ? [] : [0, ...barHeights(row.counts, axis), 0],
    buckets: ends(buckets),
    age,
  };
}

/** Histograms of several tensors with common scales, each as a percentage of its elements. */
export interface TensorOverlay {
  axis: HistogramAxis;
  /** One per tensor; null if it has no finite element. */
  outlines: (Outline | null)[];
  /** Top of the bars; those of exact zeros may exceed it. */
  top: number;
}

/** The first rows of histograms with native buckets, which tensors and runs share. */
export function overlayOfTensors(all: readonly Histograms[]): TensorOverlay {
  const joined = nativeBuckets(...all);
  const rows = all.map((data) => {
    const own = data.rows[0];
    const size = own?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
    if (!own || size === 0) return null;
    const share = (count: number) => (100 * count) / size;
    return { counts: placed(own, data, joined).map(share), zero: share(own.zero) };
  });
  const found = rows.filter((row) => row !== null);
  const axis = histogramAxis({ ...joined, rows: found }, 'symlog');
  return { axis, outlines: rows.map((row) => row && stepOutline(axis, row.counts)), top: tallestBar(found, axis) };
}

/** Common buckets for all rows and one more. */
function join(data: Histograms, alone: Histograms, own: HistogramRow, scale: HistogramAxis['scale']): Histograms {
  const joined = scale === 'symlog' ? nativeBuckets(data, alone) : linearBuckets(data, alone);
  const put = scale === 'symlog' ? placed : spread;
  const rows = [...data.rows.map((row) => ({ ...row, counts: put(row, data, joined) })), { ...own, counts: put(own, alone, joined) }];
  return { ...data, ...joined, rows: rows.sort((a, b) => a.step - b.step) };
}

type Buckets = Pick<Histograms, 'edges' | 'zero_bucket'>;

/** Native buckets are the same everywhere, except the one of exact zeros, which covers all unused magnitudes. */
function nativeBuckets(...series: readonly Buckets[]): Buckets {
  const taken = series.flatMap(({ edges, zero_bucket }) =>
    edges.slice(1).flatMap((right, i) => (i === zero_bucket ? [] : [edges[i] as number, right])),
  );
  if (taken.length === 0) return series[0] ?? { edges: [], zero_bucket: null };
  const edges = [...new Set(taken)].sort((a, b) => a - b);
  const [low, high] = [edges[0] as number, edges[edges.length - 1] as number];
  const bothSigns = low < 0 && high > 0;
  if (!bothSigns && series.every(({ zero_bucket }) => zero_bucket === null)) return { edges, zero_bucket: null };
  if (bothSigns) return { edges, zero_bucket: edges.findLastIndex((edge) => edge < 0) };
  return high > 0 ? { edges: [0, ...edges], zero_bucket: 0 } : { edges: [...edges, 0], zero_bucket: edges.length - 1 };
}

function placed({ counts }: HistogramRow, from: Buckets, to: Buckets): number[] {
  const out = new Array<number>(to.edges.length - 1).fill(0);
  const places = new Map(to.edges.map((edge, i) => [edge, i]));
  const widths = to.edges.slice(1).map((right, i) => octavesOf(to.edges[i] as number, right));
  counts.forEach((count, i) => {
    const at = i === from.zero_bucket ? to.zero_bucket : places.get(from.edges[i] as number);
    if (at == null || count === 0) return;
    // Buckets of another format may span several of these.
    const end = i === from.zero_bucket ? at + 1 : (places.get(from.edges[i + 1] as number) ?? at + 1);
    const whole = widths.slice(at, end).reduce((sum, width) => sum + width, 0);
    for (let k = at; k < end; k++) out[k] = (out[k] as number) + (count * (widths[k] as number)) / whole;
  });
  return out;
}

/** As many bins as the series have, over the range of both. */
function linearBuckets(data: Buckets, alone: Buckets): Buckets {
  const low = Math.min(data.edges[0] as number, alone.edges[0] as number);
  const high = Math.max(data.edges[data.edges.length - 1] as number, alone.edges[alone.edges.length - 1] as number);
  const bins = Math.max(1, data.edges.length - 1);
  const edges = Array.from({ length: bins + 1 }, (_, i) => low + (high - low) * (i / bins));
  const zero = edges.slice(1).findIndex((right, i) => (edges[i] as number) <= 0 && 0 < right);
  return { edges, zero_bucket: zero < 0 ? null : zero };
}

/** Spreads counts evenly over other bins, as the server does with native buckets; exact zeros stay together. */
function spread({ counts, zero }: HistogramRow, from: Buckets, to: Buckets): number[] {
  const zeros = to.zero_bucket !== null && from.zero_bucket !== null && zero > 0 ? zero : 0;
  return to.edges.slice(1).map((right, bin) => {
    const left = to.edges[bin] as number;
    return counts.reduce(
      (sum, count, i) => {
        const [start, end] = [from.edges[i] as number, from.edges[i + 1] as number];
        const shared = Math.min(right, end) - Math.max(left, start);
        const spreading = i === from.zero_bucket ? count - zeros : count;
        return shared > 0 && end > start ? sum + spreading * (shared / (end - start)) : sum;
      },
      bin === to.zero_bucket ? zeros : 0,
    );
  });
}
