/** Steps × scopes of one statistic, as `…/graphs/<graph>/timeline` sends it. */

import { decodeColumns } from '../lib/columns';

export const UNSEEN = 0;
export const FINE_CELL = 1;
export const INF_CELL = 2;
export const NAN_CELL = 3;

export interface TimelineRow {
  /** A display path: of a scope, or of a single node. */
  readonly path: string;
  /** Name of the row's only node, else empty. */
  readonly node: string;
  readonly nodes: number;
}

export interface Timeline {
  readonly scope: string;
  readonly rows: readonly TimelineRow[];
  readonly leftOut: number;
  /** The steps that each column spans. */
  readonly first: Float64Array;
  readonly last: Float64Array;
  /** Row-major cells; NaN where nothing was captured. */
  readonly value: Float64Array;
  readonly health: Uint8Array;
  /** First step in a cell with its worst health, -1 for none. */
  readonly bad: Float64Array;
}

/** Decodes the answer; throws `ColumnsError`. */
export function decodeTimeline(buffer: ArrayBuffer): Timeline {
  const columns = decodeColumns(buffer);
  const [path, node, nodes] = [columns.text('path'), columns.text('node'), columns.i32('nodes')];
  return {
    scope: String(columns.meta.scope ?? ''),
    rows: Array.from(nodes, (count, i) => ({ path: path.at(i), node: node.at(i), nodes: count })),
    leftOut: Number(columns.meta.left_out ?? 0),
    first: columns.f64('first_step'),
    last: columns.f64('last_step'),
    value: columns.f64('value'),
    health: columns.u8('health'),
    bad: columns.f64('bad_step'),
  };
}

export function cellOf(timeline: Timeline, row: number, column: number): number {
  return row * timeline.first.length + column;
}

/** The column that holds a step; -1 where it lies between or outside of them. */
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

/** Where a cell leads: to the step that turned bad where it holds one, else to its first one. */
export function stepOfCell(timeline: Timeline, row: number, column: number): number {
  const bad = timeline.bad[cellOf(timeline, row, column)] as number;
  return bad >= 0 ? bad : (timeline.first[column] as number);
}

/** The worst health of a row and the step at which that begins. */
export function worstOfRow(timeline: Timeline, row: number): { health: number; step: number | null } {
  const width = timeline.first.length;
  const health = timeline.health.subarray(row * width, (row + 1) * width);
  const worst = health.reduce((a, b) => Math.max(a, b), UNSEEN);
  const column = health.indexOf(worst);
  return { health: worst, step: worst > FINE_CELL ? stepOfCell(timeline, row, column) : null };
}

/** A row's name below the scope that is looked into. */
export function rowLabel(path: string, scope: string): string {
  return scope !== '' && path.startsWith(`${scope}/`) ? path.slice(scope.length + 1) : path;
}

/** A scope and the scopes around it, outermost first. */
export function scopeTrail(scope: string): { label: string; path: string }[] {
  const parts = scope === '' ? [] : scope.split('/');
  return parts.map((label, i) => ({ label, path: parts.slice(0, i + 1).join('/') }));
}
