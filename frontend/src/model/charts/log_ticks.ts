import { formatNumber } from '../../lib/format';

/** How many powers of ten stand below each other in a low chart. */
const MOST_TICKS = 4;

/**
 * Ticks of a logarithmic axis over the positive numbers of some columns: powers of ten as far apart as there is room for, or, where
 * there is no more than one between the smallest and the largest number, twos and fives too, and then the ends themselves.
 */
export function logTicks(columns: readonly (readonly number[])[]): { at: number; label: string }[] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const value of columns.flat()) {
    if (!(value > 0) || value === Number.POSITIVE_INFINITY) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high === 0) return [];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const inside = (value: number) => value >= low * 0.95 && value <= high * 1.05;
  const tens = powers.filter(inside);
  const every = Math.ceil(tens.length / MOST_TICKS);
  const near = powers.flatMap((power) => [power, 2 * power, 5 * power]).filter(inside);
  const choices = [tens.filter((_, i) => (tens.length - 1 - i) % every === 0), near, [...new Set([low, high])]];
  const chosen = choices.find((ticks) => ticks.length > 1) ?? [high];
  const digits = chosen === choices[2] || chosen.length === 1 ? 3 : 1;
  return chosen.map((at) => ({ at, label: formatNumber(at, digits) }));
}
