import { formatNumber } from '../../lib/format';

const ENOUGH = 2; // ticks to read a scale by

/** A logarithmic axis on both sides of zero: linear within the threshold, a unit for each power of ten beyond it. */
export interface SignedLog {
  at(value: number): number;
  ticks: { at: number; label: string }[];
}

/** Magnitudes further below the largest than that many powers of ten lie in the linear part around zero. */
const DECADES = 6;
const MOST_TICKS = 7;

export function signedLog(columns: readonly (readonly number[])[]): SignedLog {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of columns.flat()) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    if (value === 0) continue;
    least = Math.min(least, Math.abs(value));
    most = Math.max(most, Math.abs(value));
  }
  const [negative, positive] = [low < 0, high > 0];
  if (most === 0) return { at: (value) => value, ticks: [{ at: 0, label: '0' }] };
  const top = Math.ceil(Math.log10(most));
  const bottom = Math.max(Math.floor(Math.log10(least)), top - DECADES);
  // The bottom power stands one unit off zero.
  const at = (value: number) => {
    const size = Math.abs(value) / 10 ** bottom;
    return Math.sign(value) * (size <= 1 ? size : 1 + Math.log10(size));
  };
  const every = Math.ceil((top - bottom + 1) / (negative && positive ? MOST_TICKS / 2 : MOST_TICKS));
  const powers = Array.from({ length: top - bottom + 1 }, (_, i) => top - i).filter((_, i) => i % every === 0);
  const upwards = powers.reverse().map((power) => 10 ** power);
  const values = [...(negative ? upwards.map((value) => -value).reverse() : []), 0, ...(positive ? upwards : [])];
  const seen = values.filter((value) => value >= low && value <= high);
  if (seen.length < ENOUGH) return { at, ticks: ticksBetween(low, high, at) };
  return { at, ticks: values.map((value) => ({ at: at(value), label: formatNumber(value, 1) })) };
}

/** Round numbers between two that hardly a power of ten lies between; their own digits tell them apart. */
function ticksBetween(low: number, high: number, at: SignedLog['at']): SignedLog['ticks'] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > size * 1e-12)) return [{ at: at(high), label: formatNumber(high) }];
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const every = power * ([5, 2, 1].find((part) => part * power <= rough) ?? 1);
  const count = Math.floor(high / every) - Math.ceil(low / every) + 1;
  const values = Array.from({ length: count }, (_, i) => (Math.ceil(low / every) + i) * every);
  const digits = Math.ceil(Math.log10(size / every)) + 1;
  return values.map((value) => ({ at: at(value), label: formatNumber(value, digits) }));
}
