/**
 * Edges that cross the border of an expanded scope continue inside it: from the plug at the top to the children, and from children to the
 * plug at the bottom. If that line would cross other boxes, only a stub is drawn.
 */

import { clamp, floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import type { BoxSizes, Cell } from './cells';
import type { Arrangement } from './components';
import type { CellEdges } from './hubs';
import type { ScopeGraph } from './scope_graph';

export const BRIDGE_IN = 1;
export const STUB_IN = 2;
export const BRIDGE_OUT = 4;
export const STUB_OUT = 8;
/** Edges of a hub are drawn on demand only. */
export const HUB_OUT = 16;
export const HUB_IN = 32;

/** More lines into one plug would be a tangle. */
const MOST_BRIDGES = 10;
/** Plugs keep this distance from the scope's corners. */
const PLUG_MARGIN = 22;
/** And this share of its width. */
const PLUG_SHARE = 0.2;

export interface Bridges {
  readonly fromOutside: Int32Array;
  readonly toOutside: Int32Array;
}

interface BridgeFlags {
  readonly flags: Numbers;
  readonly bridgesIn: boolean;
  readonly bridgesOut: boolean;
}

export function bridgeFlags(
  graph: ScopeGraph,
  cells: readonly Cell[],
  cellOf: Numbers,
  host: Numbers,
  edges: CellEdges,
  hub: Numbers,
  placed: Arrangement,
  { fromOutside, toOutside }: Bridges,
  sizes: BoxSizes,
): BridgeFlags {
  const count = graph.entities.length;
  const flags = integers(count);
  flagHubs(flags, graph, edges, hub);
  const entering: number[] = [];
  const leaving: number[] = [];
  for (let i = 0; i < count; i++) {
    // There is no space for a stub beside an attached node or in a block.
    if (host[i]! >= 0 || cells[cellOf[i]!]!.main < 0) continue;
    if (fromOutside[graph.entities[i]!]! > 0) entering.push(i);
    if (toOutside[graph.entities[i]!]! > 0) leaving.push(i);
  }
  const mark = (children: number[], free: (cell: number) => boolean, bridge: number, stub: number): boolean => {
    const draw = (child: number): boolean => children.length <= MOST_BRIDGES && free(cellOf[child]!);
    const drawn = children.filter(draw);
    for (const child of children) flags[child]! |= draw(child) ? bridge : stub;
    return drawn.length > 0;
  };
  const sight = new Sight(graph, cells, placed, sizes);
  const bridgesIn = mark(entering, (cell) => sight.upwards(cell), BRIDGE_IN, STUB_IN);
  const bridgesOut = mark(leaving, (cell) => sight.downwards(cell), BRIDGE_OUT, STUB_OUT);
  return { flags, bridgesIn, bridgesOut };
}

/** A separate function for the reason given in messages.ts. */
function flagHubs(flags: Numbers, graph: ScopeGraph, edges: CellEdges, hub: Numbers): void {
  for (let e = 0; e < edges.source.length; e++) {
    if (!hub[e]) continue;
    flags[graph.source[edges.meta[e]!]!]! |= HUB_OUT;
    flags[graph.target[edges.meta[e]!]!]! |= HUB_IN;
  }
}

/** Whether no other cell is between a cell and the top or bottom of the scope. */
class Sight {
  constructor(
    private readonly graph: ScopeGraph,
    private readonly cells: readonly Cell[],
    private readonly placed: Arrangement,
    private readonly sizes: BoxSizes,
  ) {}

  upwards(cell: number): boolean {
    return this.clear(cell, this.sizes.inX, (other) => this.placed.top[other]! < this.placed.top[cell]!);
  }

  downwards(cell: number): boolean {
    const bottom = (c: number): number => this.placed.top[c]! + this.cells[c]!.height;
    return this.clear(cell, this.sizes.outX, (other) => bottom(other) > bottom(cell));
  }

  private clear(cell: number, port: Float32Array, beyond: (other: number) => boolean): boolean {
    const { left } = this.placed;
    const main = this.cells[cell]!;
    // Edges meet a cell at its main box, right of attached nodes; an expanded scope off its centre.
    const middle = left[cell]! + main.left[0]! + port[this.graph.entities[main.main]!]!;
    for (let other = 0; other < this.cells.length; other++) {
      if (other === cell || !beyond(other)) continue;
      if (middle > left[other]! - 4 && middle < left[other]! + this.cells[other]!.width + 4) return false;
    }
    return true;
  }
}

/**
 * The plugs are above and below the centre of their children, both at the same x. Otherwise each scope of a chain would be shifted a
 * little further than the previous one.
 */
export function plugX(graph: ScopeGraph, left: Numbers, flags: Numbers, sizes: BoxSizes, width: number): number {
  const enters = meanX(graph, left, flags, BRIDGE_IN, STUB_IN, sizes.inX);
  const leaves = meanX(graph, left, flags, BRIDGE_OUT, STUB_OUT, sizes.outX);
  const middle = width / 2;
  const wanted = ((enters ?? leaves ?? middle) + (leaves ?? enters ?? middle)) / 2;
  const margin = Math.max(Math.min(PLUG_MARGIN, middle), PLUG_SHARE * width);
  return clamp(wanted, margin, width - margin);
}

/** Mean x of the children with a flag, or with the other one if there are none. */
function meanX(graph: ScopeGraph, left: Numbers, flags: Numbers, preferred: number, other: number, x: Float32Array): number | undefined {
  const sum = floats(2);
  const number = integers(2);
  for (let i = 0; i < graph.entities.length; i++) {
    const kind = flags[i]! & preferred ? 0 : flags[i]! & other ? 1 : -1;
    if (kind < 0) continue;
    sum[kind]! += left[i]! + x[graph.entities[i]!]!;
    number[kind]!++;
  }
  if (number[0]) return sum[0]! / number[0];
  return number[1] ? sum[1]! / number[1] : undefined;
}
