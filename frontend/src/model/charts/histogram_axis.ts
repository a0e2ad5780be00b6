import { formatNumber } from '../../lib/format';
import { chartUnit } from './axes';

/**
 * Where values stand on a histogram's axis. `linear`: at their value. `symlog`: every bucket is one unit wide, negative values to the
 * left, exact zeros in a unit of their own, so that magnitudes of any size stay visible.
 */
export interface HistogramAxis {
  scale: 'symlog' | 'linear';
  /** Axis coordinates of the bucket edges, in units of `unit` (`× 1e-310`; mostly empty). */
  at: number[];
  unit: string;
  ticks: { at: number; label: string }[];
  /** The bucket of exact zeros: on a symlog axis there is nothing else in it. */
  zeroBucket: number | null;
}

export function histogramAxis(edges: readonly number[], zeroBucket: number | null, scale: 'symlog' | 'linear'): HistogramAxis {
  if (scale === 'linear') {
    const unit = chartUnit([edges]);
    return { scale, at: edges.map(unit.at), unit: unit.text, ticks: [], zeroBucket };
  }
  return { scale, unit: '', at: edges.map((_, i) => i), ticks: symlogTicks(edges, zeroBucket), zeroBucket };
}

/** Coordinate of a value on a symlog axis: within its bucket by its logarithm. Values beyond the edges are held at the ends. */
export function symlogPosition(edges: readonly number[], zeroBucket: number | null, value: number): number {
  if (value === 0 && zeroBucket !== null) return zeroBucket + 0.5;
  const last = edges.length - 1;
  if (last < 1 || value <= (edges[0] as number)) return 0;
  if (value >= (edges[last] as number)) return last;
  let i = 0;
  while (i < last - 1 && (edges[i + 1] as number) <= value) i++;
  if (i === zeroBucket) return i + 0.5;
  const [left, right] = [edges[i] as number, edges[i + 1] as number];
  if (left === 0 || right === 0 || !Number.isFinite(left) || !Number.isFinite(right)) return i + 0.5;
  return i + Math.log(value / left) / Math.log(right / left);
}

/** A span of values is at least this part of a small histogram's width. */
const THINNEST = 0.0075;

/** Of a histogram with a single bucket, `width` wide, the part between the smallest and the largest value: where it begins, how wide it is. */
export function spanInBucket(
  { edges, zero_bucket }: { edges: readonly number[]; zero_bucket: number | null },
  { min, max }: { min: number; max: number },
  width: number,
): [from: number, width: number] {
  const [from, to] = [min, max].map((value) => width * symlogPosition(edges, zero_bucket, value)) as [number, number];
  const shown = Math.max(THINNEST * width, to - from);
  return [Math.max(0, Math.min(from, width - shown)), shown];
}

/** Least distance between two ticks, as a part of the axis: labels such as `-0.0001` stand side by side in a panel of the usual width. */
const LEAST_GAP = 0.11;

/**
 * Ticks at zero and at powers of ten, from the largest magnitudes inwards, where there is room for their labels; where that is one
 * or none, also at twos and fives, and then at the ends.
 */
function symlogTicks(edges: readonly number[], zeroBucket: number | null): { at: number; label: string }[] {
  const [low = 0, high = 0] = [edges[0], edges[edges.length - 1]];
  const negative = powers(smallest(edges, -1), -low).map((value) => -value);
  const positive = powers(smallest(edges, 1), high);
  const gap = LEAST_GAP * (edges.length - 1);
  const ticks: { at: number; label: string }[] = zeroBucket === null ? [] : [{ at: zeroBucket + 0.5, label: '0' }];
  const add = (values: readonly number[], digits: number) => {
    for (const value of [...values].sort((a, b) => Math.abs(b) - Math.abs(a))) {
      const at = symlogPosition(edges, zeroBucket, value);
      if (ticks.every((tick) => Math.abs(tick.at - at) >= gap)) ticks.push({ at, label: formatNumber(value, digits) });
    }
  };
  const inside = (value: number) => value >= low && value <= high;
  const tens = [...negative, ...positive];
  add(tens, 1);
  const near = [...new Set([...tens, ...tens.map((value) => value / 10), ...decadesOf(low), ...decadesOf(high)])];
  if (ticks.length < 2) add(near.flatMap((value) => [2 * value, 5 * value]).filter(inside), 1);
  if (ticks.length < 2)
    add(
      [low, high].filter((edge) => Number.isFinite(edge) && edge !== 0),
      3,
    );
  return ticks.sort((a, b) => a.at - b.at);
}

/** The power of ten at or below a magnitude, with its sign. */
function decadesOf(value: number): number[] {
  return value === 0 || !Number.isFinite(value) ? [] : [Math.sign(value) * 10 ** Math.floor(Math.log10(Math.abs(value)))];
}

/** The smallest magnitude other than zero on one side. */
function smallest(edges: readonly number[], sign: 1 | -1): number {
  return edges.reduce((best, edge) => (edge * sign > 0 && edge * sign < best ? edge * sign : best), Number.POSITIVE_INFINITY);
}

function powers(low: number, high: number): number[] {
  if (!(low > 0) || !(high > 0) || !Number.isFinite(low)) return [];
  const out: number[] = [];
  const top = Number.isFinite(high) ? high : 2 ** 128;
  for (let exponent = Math.ceil(Math.log10(low)); exponent <= Math.floor(Math.log10(top)); exponent++) out.push(10 ** exponent);
  return out;
}
