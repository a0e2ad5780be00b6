/** Elements of an array as numbers and texts, according to their dtype. */

import type { NpyArray } from '../../lib/arrays/npy';
import { nonFiniteText } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';

/** Element `i` as a number to draw: complex elements by magnitude, text as NaN, 64-bit integers rounded. */
export function numberAt(array: NpyArray, i: number): number {
  const { values, kind } = array;
  if (kind.startsWith('c')) return Math.hypot(Number(values[2 * i]), Number(values[2 * i + 1]));
  const value = values[i];
  return typeof value === 'string' || value === undefined ? Number.NaN : Number(value);
}

/** Element `i` exactly, as NumPy prints a scalar. `dtype` is that of the dump (bfloat16 is transferred as float32). */
export function textAt(array: NpyArray, i: number, dtype: string): string {
  const { values, kind } = array;
  if (kind.startsWith('c')) {
    const imaginary = exactText(Number(values[2 * i + 1]), dtype);
    return `${exactText(Number(values[2 * i]), dtype)}${/^[-+]/.test(imaginary) ? '' : '+'}${imaginary}j`;
  }
  const value = values[i];
  if (kind === 'b1') return value ? 'True' : 'False';
  if (typeof value === 'string') return visible(value);
  if (typeof value === 'bigint') return String(value);
  return exactText(value as number, dtype);
}

/** Significant bits of each floating-point dtype. */
const BITS: Record<string, number> = {
  float16: 11,
  bfloat16: 8,
  float32: 24,
  complex64: 24,
  float8_e4m3fn: 4,
  float8_e4m3b11fnuz: 4,
  float8_e4m3fnuz: 4,
  float8_e5m2: 3,
  float8_e5m2fnuz: 3,
};

/** The shortest text that reads back as the same number of the dtype: `0.1` for a float32, not `0.10000000149011612`. */
export function exactText(value: number, dtype: string): string {
  const special = nonFiniteText(value);
  if (special !== null) return special;
  const bits = BITS[dtype];
  if (Number.isInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (bits === undefined) return compact(value, String(value));
  for (let digits = 1; digits < 17; digits++) {
    const text = value.toPrecision(digits);
    if (roundToBits(Number(text), bits) === value) return compact(Number(text), String(Number(text)));
  }
  return String(value);
}

/** Small numbers as powers of ten, so that leading zeros do not displace digits. */
function compact(value: number, text: string): string {
  return Math.abs(value) < 1e-3 ? value.toExponential() : text;
}

/** The nearest number with this number of significant bits. */
function roundToBits(value: number, bits: number): number {
  if (value === 0) return value;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - bits + 1);
  return Math.round(value / unit) * unit;
}

/** Facts about the dump's logical dtypes (FORMAT.md). */
const DTYPE_BITS = /^(?:u?int|float|bfloat|complex)(\d+)/;

/** Bytes per element in the dump (types below a byte take one); NaN for strings. */
export function itemsize(dtype: string): number {
  if (dtype === 'bool') return 1;
  const bits = DTYPE_BITS.exec(dtype)?.[1];
  if (bits === undefined) return Number.NaN;
  return Math.max(1, Number(bits) / 8);
}

export function isComplex(dtype: string): boolean {
  return dtype.startsWith('complex');
}

export function isInteger(dtype: string): boolean {
  return /^u?int\d/.test(dtype);
}

/** Significant decimal digits that distinguish all values of the dtype. */
export function exactDigits(dtype: string): number {
  if (dtype.startsWith('float8')) return 4;
  if (dtype === 'bfloat16') return 4;
  if (dtype === 'float16') return 5;
  return dtype === 'float64' || dtype === 'complex128' ? 17 : 9;
}
