/** What the page must know of the dump's logical dtypes (FORMAT.md). */
const BITS = /^(?:u?int|float|bfloat|complex)(\d+)/;

/** Bytes an element takes in the dump (types below a byte take one); NaN for strings. */
export function itemsize(dtype: string): number {
  if (dtype === 'bool') return 1;
  const bits = BITS.exec(dtype)?.[1];
  if (bits === undefined) return Number.NaN;
  return Math.max(1, Number(bits) / 8);
}

export function isComplex(dtype: string): boolean {
  return dtype.startsWith('complex');
}

export function isInteger(dtype: string): boolean {
  return /^u?int\d/.test(dtype);
}

/** Significant decimal digits that tell every two values of the dtype apart. */
export function exactDigits(dtype: string): number {
  if (dtype.startsWith('float8')) return 4;
  if (dtype === 'bfloat16') return 4;
  if (dtype === 'float16') return 5;
  return dtype === 'float64' || dtype === 'complex128' ? 17 : 9;
}
