/** Sizes of boxes, in the layout's units (pixels at zoom 1). */

import { clamp } from '../../lib/arrays/typed_arrays';

export const NODE_HEIGHT = 36;
export const SMALL_HEIGHT = 18;
export const CLOSED_HEIGHT = 42;
/** Title bar of an expanded scope. */
export const HEADER = 28;
export const PADDING = 16;

export const NODE_FONT = 12;
export const SMALL_FONT = 10;
export const SUBTITLE_FONT = 10;
export const SCOPE_FONT = 12.5;

/** Widths are quantized, so that `MatMul_3` and `MatMul_12` have equal widths and repeated parts of a network get the same layout. */
const STEP = 10;

const stepped = (width: number): number => STEP * Math.ceil(width / STEP);

export function nodeWidth(label: string, subtitle: string): number {
  return stepped(clamp(Math.max(textWidth(label, NODE_FONT), textWidth(subtitle, SUBTITLE_FONT)) + 24, 76, 210));
}

export function smallWidth(label: string): number {
  return stepped(clamp(textWidth(label, SMALL_FONT) + 14, 34, 120));
}

export function closedWidth(label: string): number {
  return stepped(clamp(textWidth(label, SCOPE_FONT) * 1.06 + 46, 104, 250));
}

/** A group has room for its second line: its first and last block. */
export function blockGroupWidth(label: string, subtitle: string): number {
  return stepped(clamp(Math.max(closedWidth(label), textWidth(subtitle, SUBTITLE_FONT) + 46), 104, 320));
}

// Width of text in a common sans-serif face, from a table: workers have no fonts, and a graph should get the same layout everywhere.

// Advance widths of ASCII 32…126, in hundredths of the font size (Helvetica's, rounded; the page's face is a little wider).
const ADVANCES = [
  28, 28, 36, 56, 56, 89, 67, 19, 33, 33, 39, 58, 28, 33, 28, 28, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 28, 28, 58, 58, 58, 56, 102, 67,
  67, 72, 72, 67, 61, 78, 72, 28, 50, 67, 56, 83, 72, 78, 67, 78, 72, 67, 61, 72, 67, 94, 67, 67, 61, 28, 28, 28, 47, 56, 33, 56, 56, 50,
  56, 56, 28, 56, 56, 22, 22, 50, 22, 83, 56, 56, 56, 56, 33, 50, 28, 56, 50, 72, 50, 50, 50, 33, 26, 33, 58,
];
const OTHER = 60;
const WIDER = 1.09;

export function textWidth(text: string, size: number): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += ADVANCES[text.charCodeAt(i) - 32] ?? OTHER;
  return (sum * size * WIDER) / 100;
}
