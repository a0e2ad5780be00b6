/** Colours as `#rrggbb`: mixing, luminance and contrast; and colour scales as tables of 256 RGB colours. */

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

/** Colour scales as tables of 256 RGB colours, perceptually even: viridis and magma (sequential), blue-white-red (diverging), grey. */
export type ColormapName = 'viridis' | 'magma' | 'diverging' | 'grey';

/** Control points; in between the colours are interpolated. */
const POINTS: Record<ColormapName, string[]> = {
  viridis: ['440154', '482878', '3e4989', '31688e', '26828e', '1f9e89', '35b779', '6ece58', 'b5de2b', 'fde725'],
  magma: ['000004', '180f3d', '440f76', '721f81', '9e2f7f', 'cd4071', 'f1605d', 'fd9668', 'feca8d', 'fcfdbf'],
  diverging: ['053061', '2166ac', '4393c3', '92c5de', 'd1e5f0', 'f7f7f7', 'fddbc7', 'f4a582', 'd6604d', 'b2182b', '67001f'],
  grey: ['000000', 'ffffff'],
};

const tables = new Map<ColormapName, Uint8Array>();

/** 256 × 3 bytes. */
export function colormap(name: ColormapName): Uint8Array {
  let table = tables.get(name);
  if (!table) {
    table = build(POINTS[name].map(rgb));
    tables.set(name, table);
  }
  return table;
}

function build(points: [number, number, number][]): Uint8Array {
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (points.length - 1);
    const left = Math.min(points.length - 2, Math.floor(place));
    for (let c = 0; c < 3; c++) {
      const [a, b] = [points[left]?.[c] as number, points[left + 1]?.[c] as number];
      table[3 * i + c] = Math.round(a + (b - a) * (place - left));
    }
  }
  return table;
}

/** `#rrggbb` or `rrggbb` to bytes. */
export function rgb(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.replace('#', ''), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Place of a value between `low` and `high` as a table index 0 to 255, clipped. */
export function colourIndex(value: number, low: number, high: number): number {
  if (high <= low) return 128;
  // Halves: the distance of two large numbers may be none.
  return Math.max(0, Math.min(255, Math.round(255 * ((value / 2 - low / 2) / (high / 2 - low / 2)))));
}
