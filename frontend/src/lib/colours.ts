/** Colours as `#rrggbb`: mixing, luminance and contrast; and colour scales as tables of 256 RGB colours. */

import { interpolateMagma, interpolateViridis, schemeRdBu } from 'd3-scale-chromatic';

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

/** Colour scales: viridis and magma (sequential, perceptually even), red-blue (diverging), grey. */
export type ColormapName = 'viridis' | 'magma' | 'diverging' | 'grey';

const RED_BLUE = schemeRdBu[11]!;

/** The colour at a place from 0 to 1. */
const SCALES: Record<ColormapName, (place: number) => string> = {
  viridis: interpolateViridis,
  magma: interpolateMagma,
  diverging: (place) => {
    const at = (1 - place) * (RED_BLUE.length - 1);
    const left = Math.min(RED_BLUE.length - 2, Math.floor(at));
    return mixColours(RED_BLUE[left]!, RED_BLUE[left + 1]!, at - left);
  },
  grey: (place) => mixColours('#000000', '#ffffff', place),
};

const tables = new Map<ColormapName, Uint8Array>();

/** A colour scale as a table of 256 RGB colours: 256 × 3 bytes. */
export function colormap(name: ColormapName): Uint8Array {
  let table = tables.get(name);
  if (!table) {
    table = Uint8Array.from(Array.from({ length: 256 }, (_, i) => parseColour(SCALES[name](i / 255))).flat());
    tables.set(name, table);
  }
  return table;
}

/** Place of a value between `low` and `high` as a table index 0 to 255, clipped. */
export function colourIndex(value: number, low: number, high: number): number {
  if (high <= low) return value > low ? 255 : 0; // equal elements are the lowest
  // Halves: the distance of two large numbers may be none.
  return Math.max(0, Math.min(255, Math.round(255 * ((value / 2 - low / 2) / (high / 2 - low / 2)))));
}
