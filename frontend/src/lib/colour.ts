/** Arithmetic on colours written as `#rrggbb`. */

export function parseColour(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1, 7), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function formatColour(red: number, green: number, blue: number): string {
  return `#${((1 << 24) | (Math.round(red) << 16) | (Math.round(green) << 8) | Math.round(blue)).toString(16).slice(1)}`;
}

/** `share` of `b` in `a`. */
export function mixColours(a: string, b: string, share: number): string {
  const [from, to] = [parseColour(a), parseColour(b)];
  const at = (i: 0 | 1 | 2): number => from[i] + (to[i] - from[i]) * share;
  return formatColour(at(0), at(1), at(2));
}

/** Relative luminance (WCAG), 0 to 1. */
export function luminance(hex: string): number {
  const [r, g, b] = parseColour(hex).map((byte) => {
    const c = byte / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast ratio of two colours (WCAG), 1 to 21. */
export function contrast(a: string, b: string): number {
  const [high, low] = [Math.max(luminance(a), luminance(b)), Math.min(luminance(a), luminance(b))];
  return (high + 0.05) / (low + 0.05);
}
