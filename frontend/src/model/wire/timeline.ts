/** Steps × scopes of one statistic, as `…/graphs/<graph>/timeline` sends it. */

import { type DictColumn, decodeColumns } from '../../lib/arrays/columns';

export const UNSEEN = 0;
export const FINE_CELL = 1;
export const INF_CELL = 2;
export const NAN_CELL = 3;

export interface TimelineRow {
  /**
   * A display path: of a scope, of a single node, of ops that differ by a number (`net/AddN …`), or of the smallest of many rows
   * (`net/…`).
   */
  readonly path: string;
  readonly kind: 'node' | 'scope' | 'numbered' | 'rest';
  /** Number of expanded rows around it. */
  readonly depth: number;
  readonly open: boolean;
  /** Name of the row's only node, else empty. */
  readonly node: string;
  readonly nodes: number;
}

export interface Timeline {
  readonly scope: string;
  readonly rows: readonly TimelineRow[];
  readonly leftOut: number;
  /** The first and last step of each column. */
  readonly first: Float64Array;
  readonly last: Float64Array;
  /** Row-major cells, each with its worst snapshot: the first NaN or Inf, else the worst number. NaN if there is none. */
  readonly value: Float64Array;
  readonly health: Uint8Array;
  /** Number of its elements that are NaN or infinite. */
  readonly bad: Float64Array;
  /** -1 if nothing was captured. */
  readonly step: Float64Array;
  readonly visit: Float64Array;
  readonly tensor: DictColumn;
}

/** Decodes the answer; throws `ColumnsError`. */
export function decodeTimeline(buffer: ArrayBuffer): Timeline {
  const columns = decodeColumns(buffer);
  const [path, node, nodes] = [columns.text('path'), columns.text('node'), columns.i32('nodes')];
  const [kind, depth, open] = [columns.dict('kind'), columns.i32('depth'), columns.u8('open')];
  return {
    scope: String(columns.meta.scope ?? ''),
    rows: Array.from(nodes, (count, i) => ({
      path: path.at(i),
      kind: kind.at(i) as TimelineRow['kind'],
      depth: depth[i] as number,
      open: open[i] === 1,
      node: node.at(i),
      nodes: count,
    })),
    leftOut: Number(columns.meta.left_out ?? 0),
    first: columns.f64('first_step'),
    last: columns.f64('last_step'),
    value: columns.f64('value'),
    health: columns.u8('health'),
    bad: columns.f64('bad'),
    step: columns.f64('step'),
    visit: columns.f64('visit'),
    tensor: columns.dict('tensor'),
  };
}

export function cellOf(timeline: Timeline, row: number, column: number): number {
  return row * timeline.first.length + column;
}

/** The column with a step; -1 if there is none. */
export function columnOfStep(timeline: Timeline, step: number): number {
  let [low, high] = [0, timeline.first.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (step < (timeline.first[middle] as number)) high = middle - 1;
    else if (step > (timeline.last[middle] as number)) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** The worst health of a row and its first step. */
export function worstOfRow(timeline: Timeline, row: number): { health: number; step: number | null } {
  const width = timeline.first.length;
  const health = timeline.health.subarray(row * width, (row + 1) * width);
  const worst = health.reduce((a, b) => Math.max(a, b), UNSEEN);
  const step = timeline.step[cellOf(timeline, row, health.indexOf(worst))];
  return { health: worst, step: worst > FINE_CELL ? (step ?? null) : null };
}

/** The expanded row that contains a row; -1 if there is none. */
export function rowAround({ rows }: Timeline, index: number): number {
  const { depth } = rows[index] as TimelineRow;
  return rows.findLastIndex((row, above) => above < index && row.depth < depth);
}

/** Position of a row in its expanded row, from 1, and number of rows there. */
export function placeAmongRows(timeline: Timeline, index: number): { place: number; of: number } {
  const { rows } = timeline;
  const { depth } = rows[index] as TimelineRow;
  const first = rowAround(timeline, index) + 1;
  const end = rows.findIndex((row, i) => i > index && row.depth < depth);
  const beside = (last: number) => rows.slice(first, last).filter((row) => row.depth === depth).length;
  return { place: beside(index + 1), of: beside(end < 0 ? rows.length : end) };
}

/** Name of a row relative to the expanded row around it, or to the timeline's scope. */
export function rowLabel(timeline: Timeline, index: number): string {
  const { path, kind, nodes } = timeline.rows[index] as TimelineRow;
  if (kind === 'rest') return `${nodes} more nodes`;
  const around = timeline.rows[rowAround(timeline, index)];
  // Ops that differ by a number are in their scope, not in each other; so is the rest of many rows.
  const scope =
    around?.kind === 'numbered' || around?.kind === 'rest' ? around.path.replace(/[^/]*$/, '') : `${around?.path ?? timeline.scope}/`;
  return scope.length > 1 && path.startsWith(scope) ? path.slice(scope.length) : path;
}

/** Width of a wide letter, and of the parts around a name: sign, number of nodes, gaps. */
const [LETTER, AROUND, INDENT] = [7, 80, 12];

/** CSS pixels for the longest name. At least the width that most expanded rows need, in coarse steps, so that cells rarely move. */
export function roomForNames(timeline: Timeline): number {
  const needed = timeline.rows.map(({ depth }, i) => INDENT * depth + LETTER * rowLabel(timeline, i).length + AROUND);
  return 40 * Math.ceil(needed.reduce((most, room) => Math.max(most, room), 280) / 40);
}

/** Whether a row contains a node. */
function holds({ path, kind }: TimelineRow, node: string): boolean {
  if (kind === 'numbered') return `${node.replace(/(?<=[^/])_\d+$/, '')} …` === path;
  return node === path || (kind === 'scope' && node.startsWith(`${path}/`));
}

/** The row for the rest of an expanded row (-1: of all), else that row itself. */
function restIn({ rows }: Timeline, around: number, node: string): number {
  const depth = rows[around] ? rows[around].depth + 1 : 0;
  const end = rows.findIndex((row, i) => i > around && row.depth < depth);
  const rest = rows.findIndex((row, i) => i > around && (end < 0 || i < end) && row.kind === 'rest' && row.depth === depth);
  return rest >= 0 && node.startsWith(rows[rest]!.path.slice(0, -1)) ? rest : around;
}

/** The innermost row that contains a node or scope; -1 if there is none. */
export function rowOfPath(timeline: Timeline, path: string): number {
  const inner = timeline.rows.findLastIndex((candidate) => holds(candidate, path));
  return inner < 0 || timeline.rows[inner]!.open ? restIn(timeline, inner, path) : inner;
}

/** The cell of a node at a step; null if it is not shown. */
export function cellOfNode(timeline: Timeline, path: string, step: number): { row: number; column: number } | null {
  const [row, column] = [rowOfPath(timeline, path), columnOfStep(timeline, step)];
  return row < 0 || column < 0 ? null : { row, column };
}

/** A scope and the scopes around it, outermost first. */
export function scopeTrail(scope: string): { label: string; path: string }[] {
  const parts = scope === '' ? [] : scope.split('/');
  return parts.map((label, i) => ({ label, path: parts.slice(0, i + 1).join('/') }));
}
