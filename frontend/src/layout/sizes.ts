/** Sizes of boxes, in the layout's units (pixels at zoom 1). */

import { clamp } from '../lib/numbers';
import { textWidth } from '../lib/text_width';

export const NODE_HEIGHT = 36;
export const SMALL_HEIGHT = 18;
export const CLOSED_HEIGHT = 42;
/** Title bar of an open scope. */
export const HEADER = 28;
export const PADDING = 16;

export const NODE_FONT = 12;
export const SMALL_FONT = 10;
export const SUBTITLE_FONT = 10;
export const SCOPE_FONT = 12.5;

/** Widths go in steps: so `MatMul_3` and `MatMul_12` are equally wide, and what repeats in a network looks and is laid out alike. */
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

/** A stack has room for what its second line says: from which block to which. */
export function stackWidth(label: string, subtitle: string): number {
  return stepped(clamp(Math.max(closedWidth(label), textWidth(subtitle, SUBTITLE_FONT) + 46), 104, 320));
}
