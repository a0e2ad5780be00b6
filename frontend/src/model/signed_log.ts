import { formatNumber } from '../lib/format';

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
  let [negative, positive] = [false, false];
  for (const value of columns.flat()) {
    if (!Number.isFinite(value) || value === 0) continue;
    least = Math.min(least, Math.abs(value));
    most = Math.max(most, Math.abs(value));
    if (value < 0) negative = true;
    else positive = true;
  }
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
  return { at, ticks: values.map((value) => ({ at: at(value), label: formatNumber(value, 1) })) };
}
