/** Maps values of a statistic to positions on a colour scale, 0 to 1. */

import { formatBytes, formatNumber } from '../../lib/text/format';

/** Statistics a node can be coloured by; shares are parts of the tensor's size. */
export const NODE_STATISTICS = ['mean', 'std', 'min', 'max', 'abs_max', 'l2', 'zero_share', 'nan_share', 'inf_share'] as const;
export type NodeStatistic = (typeof NODE_STATISTICS)[number];

export const STATISTIC_TITLES: Record<NodeStatistic, string> = {
  mean: 'Mean',
  std: 'Std',
  min: 'Min',
  max: 'Max',
  abs_max: 'Max |x|',
  l2: 'L2 norm',
  zero_share: '% zeros',
  nan_share: '% NaN',
  inf_share: '% Inf',
};

/** Finite range of the values; NaN if there are none. Of non-negative statistics, the range of positive values. */
export interface ValueRange {
  readonly least: number;
  /** Without the lowest and highest percent: outliers do not stretch a scale. */
  readonly low: number;
  readonly high: number;
  readonly largest: number;
  /** Whether some values are exactly 0. */
  readonly zeros: boolean;
}

export interface ValueScale {
  /** Position of a value, clamped to the ends. */
  place(value: number): number;
  readonly ticks: readonly { readonly place: number; readonly label: string }[];
  /** Two colours meet at zero. */
  readonly diverging: boolean;
}

const DIVERGING: ReadonlySet<NodeStatistic> = new Set(['mean', 'min', 'max']);
const SHARES: ReadonlySet<NodeStatistic> = new Set(['zero_share', 'nan_share', 'inf_share']);
const LOW_PART = 0.01;
const HIGH_PART = 0.99;
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

/** Shares have a fixed scale. */
export function isShare(name: NodeStatistic): boolean {
  return SHARES.has(name);
}

export function rangeOf(name: NodeStatistic, values: Float64Array): ValueRange {
  const finite = values.filter((value) => Number.isFinite(value) && (DIVERGING.has(name) || value > 0));
  return { ...endsOf(finite.sort()), zeros: values.includes(0) };
}

export function valueScale(name: NodeStatistic, range: ValueRange): ValueScale {
  if (SHARES.has(name)) return linear();
  return DIVERGING.has(name) ? symmetric(range) : logarithmic(range);
}

function linear(): ValueScale {
  const ticks = QUARTERS.map((place) => ({ place, label: `${100 * place} %` }));
  return { place: (value) => Math.min(1, Math.max(0, value)), ticks, diverging: false };
}

/** Signed square root around zero: small values remain distinct, large ones do not dominate. */
function symmetric({ least, low, high, largest }: ValueRange): ValueScale {
  const limit = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const place = (value: number): number => {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / limit));
    return 0.5 + (value < 0 ? -share : share) / 2;
  };
  const ticks = [-limit, -limit / 4, 0, limit / 4, limit].map((value) => ({ place: place(value), label: formatNumber(value, 2) }));
  return { place, ticks: withEnds(ticks, least < -limit, largest > limit), diverging: true };
}

/** 0 has no logarithm; it is at the lower end. */
function logarithmic({ least, low: from, high: to, largest, zeros }: ValueRange): ValueScale {
  const low = from || 1e-3;
  const high = Math.max(to || 1, low * 10);
  const range = Math.log(high / low);
  const place = (value: number): number => (value <= low ? 0 : Math.min(1, Math.log(value / low) / range));
  const ticks = QUARTERS.map((at) => ({ place: at, label: formatNumber(low * Math.exp(at * range), 2) }));
  return { place, ticks: withEnds(ticks, zeros ? '0 … ' : least < low, largest > high), diverging: false };
}

/** For bytes: between powers of two, with ticks at powers of two. */
export function byteScale(bytes: Float64Array): ValueScale {
  const { least, low: from, high: to, largest } = endsOf(bytes.filter((size) => size > 0).sort());
  const low = Math.floor(Math.log2(from || 1));
  const high = Math.max(Math.ceil(Math.log2(to || 1)), low + 4);
  const place = (size: number): number => Math.min(1, Math.max(0, (Math.log2(Math.max(1, size)) - low) / (high - low)));
  const powers = QUARTERS.map((at) => 2 ** Math.round(low + at * (high - low)));
  const ticks = powers.map((size) => ({ place: place(size), label: formatBytes(size).replace('.0 ', ' ') }));
  return { place, ticks: withEnds(ticks, least < 2 ** low, largest > 2 ** high), diverging: false };
}

/** Marks the ends beyond which there are values. */
function withEnds(ticks: ValueScale['ticks'], below: boolean | string, above: boolean): ValueScale['ticks'] {
  const lower = below === true ? '≤ ' : below || '';
  const sign = (i: number) => (i === 0 ? lower : i === ticks.length - 1 && above ? '≥ ' : '');
  return ticks.map(({ place, label }, i) => ({ place, label: sign(i) + label }));
}

function endsOf(sorted: Float64Array): Omit<ValueRange, 'zeros'> {
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
  return { least: at(0), low: at(LOW_PART), high: at(HIGH_PART), largest: at(1) };
}
