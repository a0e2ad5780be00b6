/** Nodes created by each line of a file, and their health. */

import { healthOfCounts } from '../graph/node_values';
import type { StepStatistics } from '../wire/step_statistics';

/** Answer of `…/sources` (server/http_api.md). */
export interface SourceMap {
  files: { file: string; embedded: boolean }[];
  stacks: { frames: [number, number][]; nodes: number[] }[];
}

export interface SourceLine {
  line: number;
  /** Rows of the nodes created by this line, ascending. */
  nodes: number[];
  /** Number of nodes created in calls from this line. */
  through: number;
}

/** `file:line`, as in the address; file names may contain colons. */
export function parsePlace(text: string): { file: string; line: number | null } {
  const found = /^(.*):(\d{1,9})$/s.exec(text);
  return found ? { file: found[1] as string, line: Number(found[2]) } : { file: text, line: null };
}

/** The files that a name matches: the one with that path, else those whose path ends in it. */
export function filesCalled<T extends { file: string }>(files: readonly T[], name: string): T[] {
  const exact = files.find(({ file }) => file === name);
  return exact ? [exact] : files.filter(({ file }) => file.replaceAll('\\', '/').endsWith(`/${name}`));
}

/** Lines of each file that created nodes, in file order. A line that recurs in a stack counts once. */
export function linesOfFiles(map: SourceMap): Map<number, SourceLine>[] {
  const files = map.files.map(() => new Map<number, SourceLine>());
  const at = (file: number, line: number): SourceLine => {
    const known = files[file]?.get(line) ?? { line, nodes: [], through: 0 };
    files[file]?.set(line, known);
    return known;
  };
  for (const { frames, nodes } of map.stacks) {
    const last = frames[frames.length - 1];
    if (!last || nodes.length === 0) continue;
    const own = at(...last);
    for (const node of nodes) own.nodes.push(node);
    const outer = new Set(frames.map((frame) => at(...frame)));
    outer.delete(own);
    for (const line of outer) line.through += nodes.length;
  }
  for (const lines of files) for (const line of lines.values()) line.nodes.sort((a, b) => a - b);
  return files;
}

/**
 * Rows of the nodes created at a place in the program, `train.py:17` or a whole file: directly, else in calls from there. A file is given
 * by its path or the end of it, in any letter case. Null if the lines are unknown.
 */
export function nodesOfPlace(map: SourceMap | null, text: string): number[] | null {
  if (map === null) return null;
  const { file, line } = parsePlace(text.toLowerCase());
  const names = map.files.map((one) => one.file.toLowerCase().replaceAll('\\', '/'));
  const exact = names.map((name) => name === file || name.endsWith(`/${file}`));
  const wanted = exact.includes(true) ? exact : names.map((name) => name.includes(file));
  const here = ([of, at]: [number, number]): boolean => wanted[of] === true && (line === null || at === line);
  const made = (of: SourceMap['stacks']) => of.flatMap(({ nodes }) => nodes);
  const own = made(map.stacks.filter(({ frames }) => frames.length > 0 && here(frames[frames.length - 1]!)));
  return own.length > 0 ? own : made(map.stacks.filter(({ frames }) => frames.some(here)));
}

/** Files by number of directly created nodes, most first: the model before the training program. */
export function filesByNodes(map: SourceMap): { file: string; embedded: boolean; nodes: number }[] {
  const counts = map.files.map(() => 0);
  for (const { frames, nodes } of map.stacks) {
    const last = frames[frames.length - 1];
    if (last && counts[last[0]] !== undefined) counts[last[0]]! += nodes.length;
  }
  const files = map.files.map((file, i) => ({ ...file, nodes: counts[i] ?? 0 }));
  return files.sort((a, b) => b.nodes - a.nodes);
}

/** Worst health of each node at a step: 0 if nothing was captured. */
export function healthByNode(count: number, step: StepStatistics | null): Uint8Array {
  const health = new Uint8Array(count);
  if (!step) return health;
  const [nan, positive, negative] = [step.column('nan'), step.column('pos_inf'), step.column('neg_inf')];
  step.node.forEach((node, row) => {
    const state = healthOfCounts(nan[row]!, positive[row]! + negative[row]!);
    if (node >= 0 && node < count && state > health[node]!) health[node] = state;
  });
  return health;
}

export function worst(health: Uint8Array, nodes: readonly number[]): number {
  return nodes.reduce((most, node) => Math.max(most, health[node] ?? 0), 0);
}

// Lines of a file in parts, so that a long file is not drawn at once.

export interface NumberedLine {
  readonly line: number;
  readonly text: string;
}

/** Lines of a part, and pixels of a line. */
export const PART = 100;
export const LINE = 20;

/** All lines of a text; without one, those that created nodes. */
export function numberedLines(text: string | null, made: ReadonlyMap<number, SourceLine>): NumberedLine[] {
  if (text === null) return [...made.keys()].sort((a, b) => a - b).map((line) => ({ line, text: '' }));
  return text.split('\n').map((one, i) => ({ line: i + 1, text: one }));
}

export function partsOf(lines: readonly NumberedLine[]): NumberedLine[][] {
  return Array.from({ length: Math.ceil(lines.length / PART) }, (_, i) => lines.slice(i * PART, (i + 1) * PART));
}

/** Offset in pixels of the chosen line, else of the first line with nodes if it is further down than `near`; null for neither. */
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
