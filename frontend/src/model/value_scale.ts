/** From a statistic's values to places on a colour scale, 0 to 1. */

import { formatBytes, formatNumber } from '../lib/format';
import type { StatisticName } from './graph';

export interface ValueScale {
  /** Place of a value; values beyond the ends are at the ends. */
  place(value: number): number;
  readonly ticks: readonly { readonly place: number; readonly label: string }[];
  /** Two colours meet at zero. */
  readonly diverging: boolean;
}

const DIVERGING: ReadonlySet<StatisticName> = new Set(['mean', 'min', 'max']);
const SHARES: ReadonlySet<StatisticName> = new Set(['zero_share', 'nan_share', 'inf_share']);
/** Outliers beyond these parts of the values do not stretch the scale. */
const LOW_PART = 0.01;
const HIGH_PART = 0.99;

export function valueScale(name: StatisticName, values: Float64Array): ValueScale {
  if (SHARES.has(name)) return linear();
  const finite = values.filter(Number.isFinite).sort();
  if (DIVERGING.has(name)) return symmetric(finite);
  return logarithmic(finite.filter((value) => value > 0));
}

function linear(): ValueScale {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((place) => ({ place, label: `${100 * place} %` }));
  return { place: (value) => Math.min(1, Math.max(0, value)), ticks, diverging: false };
}

/** Signed square root around zero: small values still differ, large ones do not drown them. */
function symmetric(sorted: Float64Array): ValueScale {
  const limit = Math.max(Math.abs(part(sorted, LOW_PART)), Math.abs(part(sorted, HIGH_PART))) || 1;
  const place = (value: number): number => {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / limit));
    return 0.5 + (value < 0 ? -share : share) / 2;
  };
  const ticks = [-limit, -limit / 4, 0, limit / 4, limit].map((value) => ({ place: place(value), label: formatNumber(value, 2) }));
  return { place, ticks, diverging: true };
}

function logarithmic(positive: Float64Array): ValueScale {
  const low = part(positive, LOW_PART) || 1e-3;
  const high = Math.max(part(positive, HIGH_PART) || 1, low * 10);
  const range = Math.log(high / low);
  const place = (value: number): number => (value <= low ? 0 : Math.min(1, Math.log(value / low) / range));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ place: at, label: formatNumber(low * Math.exp(at * range), 2) }));
  return { place, ticks, diverging: false };
}

/** Of bytes: from a power of two to another, with ticks at powers of two. */
export function byteScale(bytes: Float64Array): ValueScale {
  const sorted = bytes.filter((size) => size > 0).sort();
  const low = Math.floor(Math.log2(part(sorted, LOW_PART) || 1));
  const high = Math.max(Math.ceil(Math.log2(part(sorted, HIGH_PART) || 1)), low + 4);
  const place = (size: number): number => Math.min(1, Math.max(0, (Math.log2(Math.max(1, size)) - low) / (high - low)));
  const powers = [0, 0.25, 0.5, 0.75, 1].map((at) => 2 ** Math.round(low + at * (high - low)));
  const ticks = powers.map((size) => ({ place: place(size), label: formatBytes(size).replace('.0 ', ' ') }));
  return { place, ticks, diverging: false };
}

function part(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? 0;
}
