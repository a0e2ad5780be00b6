/** Hubs: cells with so many edges that following them would pull everything into one row. Their edges are left out of the layout. */

import { integers, type Numbers } from '../lib/numbers';

/** A hub has more neighbours on one side than this, and than this part of all cells. */
const MOST_NEIGHBOURS = 24;

export interface CellEdges {
  readonly source: number[];
  readonly target: number[];
  /** A meta edge (local number) of each cell edge. */
  readonly meta: number[];
}

/** Marks the edges that a hub spreads or gathers. */
export function hubEdges(cells: number, edges: CellEdges): Numbers {
  const hub = integers(edges.source.length);
  if (edges.source.length <= MOST_NEIGHBOURS) return hub;
  const outs = integers(cells);
  const ins = integers(cells);
  for (let e = 0; e < edges.source.length; e++) {
    outs[edges.source[e]!]!++;
    ins[edges.target[e]!]!++;
  }
  for (let e = 0; e < edges.source.length; e++) {
    if (outs[edges.source[e]!]! > MOST_NEIGHBOURS || ins[edges.target[e]!]! > MOST_NEIGHBOURS) hub[e] = 1;
  }
  return hub;
}
