/** The lines of a file in parts, so that a long one need not be drawn at once. */

import type { SourceLine } from './source_lines';

export interface NumberedLine {
  readonly line: number;
  readonly text: string;
}

/** Lines of a part, and pixels of a line. */
export const PART = 100;
export const LINE = 20;

/** All lines of a text; without one, those that made nodes. */
export function numberedLines(text: string | null, made: ReadonlyMap<number, SourceLine>): NumberedLine[] {
  if (text === null) return [...made.keys()].sort((a, b) => a - b).map((line) => ({ line, text: '' }));
  return text.split('\n').map((one, i) => ({ line: i + 1, text: one }));
}

export function partsOf(lines: readonly NumberedLine[]): NumberedLine[][] {
  return Array.from({ length: Math.ceil(lines.length / PART) }, (_, i) => lines.slice(i * PART, (i + 1) * PART));
}

/** How many pixels down the chosen line is, else the first that made nodes where that is further down than `near`; null for neither. */
export function lineTop(
  lines: readonly NumberedLine[],
  chosen: number | null,
  made: ReadonlyMap<number, SourceLine>,
  near: number,
): number | null {
  const at = lines.findIndex(({ line }) => line === chosen);
  if (at >= 0) return at * LINE;
  const first = lines.findIndex(({ line }) => (made.get(line)?.nodes.length ?? 0) > 0);
  return first * LINE > near ? first * LINE : null;
}
