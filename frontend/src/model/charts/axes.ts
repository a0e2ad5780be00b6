/** Axes of charts: units, ticks of counts and of logarithmic axes, and the signed logarithm. */

import { formatNumber } from '../../lib/text/format';

/** How many powers of ten fit below each other in a low chart. */
const MOST_TICKS = 4;

/**
 * Ticks of a logarithmic axis over the positive numbers of some columns: powers of ten as dense as fits. With at most one in the
 * range, also twos and fives, then the ends themselves.
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

/** Distance of ticks on an axis of counts from 0: 1, 2 or 5 times a power of ten, whole, with at most three ticks. */
export function countTick(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most / 3)));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => most / step <= 3) ?? power;
}

/** Plotly places no ticks near the limits of doubles: such axes are drawn in units of a power of ten. */
export interface ChartUnit {
  /** In these units. */
  at(value: number): number;
  /** `× 1e-310`, for the axis title; empty for plain numbers. */
  text: string;
}

/** Plain numbers. */
const PLAIN: ChartUnit = { at: (value) => value, text: '' };

/** Powers of ten that Plotly can draw. */
const LEAST = -280;
const MOST = 300;

/** The unit for the largest finite magnitude of all columns. */
export function chartUnit(columns: readonly (readonly number[])[]): ChartUnit {
  let most = 0;
  for (const column of columns) for (const value of column) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  const power = most === 0 ? 0 : Math.floor(Math.log10(most));
  if (power >= LEAST && power <= MOST) return PLAIN;
  // In two halves, because 1e324 is infinite.
  const half = 10 ** Math.trunc(-power / 2);
  const rest = 10 ** (-power - Math.trunc(-power / 2));
  return { at: (value) => value * half * rest, text: `× 1e${power}` };
}

/** A title followed by the unit. */
export function unitTitle(title: string, { text }: ChartUnit): string {
  return [title, text].filter(Boolean).join(' ');
}

const ENOUGH = 2; // ticks of the scale

/** A logarithmic axis on both sides of zero: linear within the threshold, a unit for each power of ten beyond it. */
export interface SignedLog {
  at(value: number): number;
  ticks: { at: number; label: string }[];
}

/** Magnitudes more than this many powers of ten below the largest are in the linear part around zero. */
const DECADES = 6;
const MOST_SYMLOG_TICKS = 7;

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
  // The lowest power is one unit away from zero.
  const at = (value: number) => {
    const size = Math.abs(value) / 10 ** bottom;
    return Math.sign(value) * (size <= 1 ? size : 1 + Math.log10(size));
  };
  const every = Math.ceil((top - bottom + 1) / (negative && positive ? MOST_SYMLOG_TICKS / 2 : MOST_SYMLOG_TICKS));
  const powers = Array.from({ length: top - bottom + 1 }, (_, i) => top - i).filter((_, i) => i % every === 0);
  const upwards = powers.reverse().map((power) => 10 ** power);
  const values = [...(negative ? upwards.map((value) => -value).reverse() : []), 0, ...(positive ? upwards : [])];
  const seen = values.filter((value) => value >= low && value <= high);
  if (seen.length < ENOUGH) return { at, ticks: ticksBetween(low, high, at) };
  return { at, ticks: values.map((value) => ({ at: at(value), label: formatNumber(value, 1) })) };
}

/** Round numbers between two numbers less than about a power of ten apart; their digits distinguish them. */
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
