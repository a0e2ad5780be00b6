/** Hubs: cells with too many edges, which would put everything into one row. Their edges are excluded from the layout. */

import { floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import { GAP_X, GAP_Y } from '../layered/layered_input';
import { assignRanks } from '../layered/ranks';
import type { Cell } from './cells';

/** Minimum number of neighbours on one side of a hub. */
const MOST_NEIGHBOURS = 24;
/** Control edges mean "after", not "from": a few are already too many to follow. */
const MOST_CONTROL = 4;

/** Smaller scopes may be wide. */
const MANY_CELLS = 30;
const WIDE = 2400;
const TOO_WIDE = 3.5;
const FEWER_NEIGHBOURS = [12, 8, 5];
const ENOUGH_PIECES = 3;

export interface CellEdges {
  readonly source: number[];
  readonly target: number[];
  /** A meta edge (local number) of each cell edge. */
  readonly meta: number[];
  /** 1 if it only has control edges. */
  readonly control: number[];
  /** Number of graph edges that it represents. */
  readonly weight: number[];
}

/** Marks the edges of hubs; with fewer neighbours also where that splits a very wide layout into pieces. */
export function hubEdges(cells: readonly Cell[], edges: CellEdges): Numbers {
  const hub = markHubs(cells.length, edges, MOST_NEIGHBOURS);
  if (cells.length < MANY_CELLS || !isWide(cells, edges, hub)) return hub;
  const pieces = countPieces(cells.length, edges, hub);
  for (const most of FEWER_NEIGHBOURS) {
    const more = markHubs(cells.length, edges, most);
    if (countPieces(cells.length, edges, more) >= pieces + ENOUGH_PIECES) return more;
  }
  return hub;
}

function markHubs(cells: number, edges: CellEdges, mostNeighbours: number): Numbers {
  const hub = integers(edges.source.length);
  if (edges.source.length <= MOST_CONTROL) return hub;
  // Data edges are counted at 2 v, control edges at 2 v + 1.
  const outs = integers(2 * cells);
  const ins = integers(2 * cells);
  for (let e = 0; e < edges.source.length; e++) {
    outs[2 * edges.source[e]! + edges.control[e]!]!++;
    ins[2 * edges.target[e]! + edges.control[e]!]!++;
  }
  for (let e = 0; e < edges.source.length; e++) {
    const control = edges.control[e]!;
    const most = control ? MOST_CONTROL : mostNeighbours;
    if (outs[2 * edges.source[e]! + control]! > most || ins[2 * edges.target[e]! + control]! > most) hub[e] = 1;
  }
  return hub;
}

/** Whether ranks would be much wider than all of them are high, with collapsed sizes: expanding a scope changes nothing here. */
function isWide(cells: readonly Cell[], edges: CellEdges, hub: Numbers): boolean {
  const kept = edges.source.map((_, e) => e).filter((e) => !hub[e]);
  const ranks = assignRanks(
    cells.length,
    kept.map((e) => edges.source[e]!),
    kept.map((e) => edges.target[e]!),
    kept.map((e) => edges.weight[e]!),
  );
  const connected = integers(cells.length);
  for (const e of kept) connected[edges.source[e]!] = connected[edges.target[e]!] = 1;
  const width = floats(ranks.count);
  const height = floats(ranks.count);
  cells.forEach((cell, c) => {
    if (!connected[c]) return;
    width[ranks.rank[c]!]! += cell.restWidth + GAP_X;
    height[ranks.rank[c]!] = Math.max(height[ranks.rank[c]!]!, cell.restHeight + GAP_Y);
  });
  let [widest, total] = [0, 0];
  for (let rank = 0; rank < ranks.count; rank++) {
    widest = Math.max(widest, width[rank]!);
    total += height[rank]!;
  }
  return widest > WIDE && widest > TOO_WIDE * total;
}

function countPieces(cells: number, edges: CellEdges, hub: Numbers): number {
  const root = integers(cells);
  for (let c = 0; c < cells; c++) root[c] = c;
  const find = (c: number): number => {
    let r = c;
    while (root[r] !== r) r = root[r] = root[root[r]!]!;
    return r;
  };
  const joined = integers(cells);
  for (let e = 0; e < edges.source.length; e++) {
    if (hub[e]) continue;
    joined[edges.source[e]!] = joined[edges.target[e]!] = 1;
    root[find(edges.source[e]!)] = find(edges.target[e]!);
  }
  let pieces = 0;
  for (let c = 0; c < cells; c++) if (joined[c] && root[c] === c) pieces++;
  return pieces;
}
