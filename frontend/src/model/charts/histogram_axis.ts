import { formatNumber } from '../../lib/text/format';
import { chartUnit } from './axes';

/**
 * Positions on a histogram axis. `linear`: proportional to the value. `symlog`: one unit per octave, negative values on the left, exact
 * zeros in a separate unit, so that all magnitudes are visible.
 */
export interface HistogramAxis {
  scale: 'symlog' | 'linear';
  /** Axis coordinates of the bucket edges, in units of `unit` (`× 1e-310`; mostly empty). */
  at: readonly number[];
  /** Where empty decades are cut out of the axis: between these two coordinates. */
  breaks: { from: number; to: number }[];
  unit: string;
  ticks: { at: number; label: string }[];
  /** The bucket of exact zeros; on a symlog axis it contains nothing else. */
  zeroBucket: number | null;
}

/** Buckets, and which of them are empty in all rows; without `counts` none is cut. */
interface AxisBuckets {
  readonly edges: readonly number[];
  readonly zero_bucket: number | null;
  readonly rows?: readonly { readonly counts: readonly number[] }[];
}

export function histogramAxis({ edges, zero_bucket, rows }: AxisBuckets, scale: 'symlog' | 'linear'): HistogramAxis {
  if (scale === 'linear') {
    const unit = chartUnit([edges]);
    return { scale, at: edges.map(unit.at), breaks: [], unit: unit.text, ticks: [], zeroBucket: zero_bucket };
  }
  const { at, breaks } = octaves(edges, zero_bucket, rows);
  return { scale, unit: '', at, breaks, ticks: symlogTicks(edges, zero_bucket, at, breaks), zeroBucket: zero_bucket };
}

/**
 * Bar heights. Native buckets, [1, 1.5) and [1.5, 2) times a power of two, span 0.58 and 0.42 octaves: plain counts would look like a
 * sawtooth. So on a symlog axis the height is elements per octave.
 */
export function barHeights(counts: readonly number[], { at, scale }: Pick<HistogramAxis, 'at' | 'scale'>): number[] {
  if (scale === 'linear') return [...counts];
  return counts.map((count, i) => (count === 0 ? 0 : count / ((at[i + 1] as number) - (at[i] as number))));
}

/** More empty octaves than in a decade are cut to one. */
const LONGEST_GAP = Math.log2(10);
const BREAK = 1;

/** Octaves that a bucket spans; 1 for open-ended ones: exact zeros, and buckets that reach to zero or infinity. */
export function octavesOf(left: number, right: number): number {
  const width = Math.abs(Math.log2(right / left));
  return width > 0 && Number.isFinite(width) ? width : 1;
}

function octaves(edges: readonly number[], zeroBucket: number | null, rows: AxisBuckets['rows']): Pick<HistogramAxis, 'at' | 'breaks'> {
  const widths = edges.slice(1).map((right, i) => (i === zeroBucket ? 1 : octavesOf(edges[i] as number, right)));
  const empty = widths.map((_, i) => i !== zeroBucket && rows !== undefined && rows.every(({ counts }) => !(counts[i] as number)));
  const cut: [first: number, last: number][] = [];
  for (let first = 0; first < widths.length; first++) {
    if (!empty[first]) continue;
    let last = first;
    while (empty[last + 1]) last++;
    const length = widths.slice(first, last + 1).reduce((sum, width) => sum + width, 0);
    if (length > LONGEST_GAP) {
      for (let i = first; i <= last; i++) widths[i] = (widths[i]! * BREAK) / length;
      cut.push([first, last]);
    }
    first = last;
  }
  const at = [0];
  for (const width of widths) at.push(at[at.length - 1]! + width);
  return { at: edges.length === 0 ? [] : at, breaks: cut.map(([first, last]) => ({ from: at[first]!, to: at[last + 1]! })) };
}

/** Coordinate of a value on a symlog axis: logarithmic within its bucket, clamped at the ends. */
export function symlogPosition(edges: readonly number[], zeroBucket: number | null, at: readonly number[], value: number): number {
  const within = (bucket: number, part: number) => (at[bucket] as number) + part * ((at[bucket + 1] as number) - (at[bucket] as number));
  if (value === 0 && zeroBucket !== null) return within(zeroBucket, 0.5);
  const last = edges.length - 1;
  if (last < 1 || value <= (edges[0] as number)) return at[0] ?? 0;
  if (value >= (edges[last] as number)) return at[last] as number;
  let i = 0;
  while (i < last - 1 && (edges[i + 1] as number) <= value) i++;
  if (i === zeroBucket) return within(i, 0.5);
  const [left, right] = [edges[i] as number, edges[i + 1] as number];
  if (left === 0 || right === 0 || !Number.isFinite(left) || !Number.isFinite(right)) return within(i, 0.5);
  return within(i, Math.log(value / left) / Math.log(right / left));
}

/** Minimum width of the values in a small histogram, as a share of its width. */
const THINNEST = 0.0075;

/** In a histogram with one bucket of `width`, the part between the smallest and the largest value: its start and width. */
export function spanInBucket(
  { edges, zero_bucket }: { edges: readonly number[]; zero_bucket: number | null },
  { min, max }: { min: number; max: number },
  width: number,
): [from: number, width: number] {
  const [from, to] = [min, max].map((value) => width * symlogPosition(edges, zero_bucket, [0, 1], value)) as [number, number];
  const shown = Math.max(THINNEST * width, to - from);
  return [Math.max(0, Math.min(from, width - shown)), shown];
}

/** Minimum distance between two ticks, as a share of the axis: room for labels such as `-0.0001` in a panel of normal width. */
const LEAST_GAP = 0.11;

/**
 * Ticks at zero and at powers of ten, from the largest magnitudes inwards, as far as labels fit. With at most one, also at twos and
 * fives, then at the ends.
 */
function symlogTicks(
  edges: readonly number[],
  zeroBucket: number | null,
  place: readonly number[],
  breaks: HistogramAxis['breaks'],
): HistogramAxis['ticks'] {
  const [low = 0, high = 0] = [edges[0], edges[edges.length - 1]];
  const negative = powers(smallest(edges, -1), -low).map((value) => -value);
  const positive = powers(smallest(edges, 1), high);
  const gap = LEAST_GAP * (place[place.length - 1] ?? 0);
  const ticks: HistogramAxis['ticks'] = zeroBucket === null ? [] : [{ at: symlogPosition(edges, zeroBucket, place, 0), label: '0' }];
  const isCut = (at: number) => breaks.some(({ from, to }) => from < at && at < to);
  const add = (values: readonly number[], digits: number) => {
    for (const value of [...values].sort((a, b) => Math.abs(b) - Math.abs(a))) {
      const at = symlogPosition(edges, zeroBucket, place, value);
      if (!isCut(at) && ticks.every((tick) => Math.abs(tick.at - at) >= gap)) ticks.push({ at, label: formatNumber(value, digits) });
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

/** The smallest non-zero magnitude on one side. */
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
