const GROUPS = new Intl.NumberFormat('en-US');

/** A count with thin grouping: `12,345`. */
export function formatCount(value: number): string {
  return Number.isFinite(value) ? GROUPS.format(value) : formatNumber(value);
}

/** `1 node`, `12,345 nodes`. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Non-finite numbers by name; null for finite ones. */
export function nonFiniteText(value: number): string | null {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : null;
}

/** A measured number for reading: significant digits, exponents where they help. */
export function formatNumber(value: number, digits = 4): string {
  const special = nonFiniteText(value);
  if (special !== null) return special;
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return tidyExponent(value.toExponential(digits - 1));
  if (Number.isInteger(value)) return GROUPS.format(value);
  const rounded = Number(value.toPrecision(digits));
  return size >= 1000 ? GROUPS.format(rounded) : String(rounded);
}

/** A number in at most `most` characters, if two significant digits fit. */
export function formatShort(value: number, most = 7): string {
  const texts = [4, 3, 2].map((digits) => formatNumber(value, digits));
  return texts.find((text) => text.length <= most) ?? tidyExponent(value.toExponential(1));
}

function tidyExponent(text: string): string {
  return text.replace(/\.?0+e/, 'e').replace('e+', 'e');
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  let unit = 0;
  let size = bytes;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}

/** `4.2 %`; a small share that is not zero never reads as 0 %. */
export function formatShare(part: number, whole: number): string {
  if (Number.isNaN(whole)) return '';
  if (whole === 0 || part === 0) return '0 %';
  if (part === whole) return '100 %';
  const percent = (100 * part) / whole;
  if (percent < 0.1) return '< 0.1 %';
  if (percent > 99.9) return '> 99.9 %';
  return `${percent.toFixed(1)} %`;
}

/** How long ago a time (seconds since 1970) was, coarsely: `just now`, `5 min ago`, `3 h ago`, or the date. */
export function formatAgo(seconds: number, now: number): string {
  const age = now - seconds;
  if (age < 10) return 'just now';
  if (age < 60) return `${Math.floor(age)} s ago`;
  if (age < 3600) return `${Math.floor(age / 60)} min ago`;
  if (age < 86400) return `${Math.floor(age / 3600)} h ago`;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** The last parts of a path identify the file. */
export function shortFile(file: string): string {
  return file.split('/').slice(-2).join('/');
}
