/** Connected pieces of a scope's cells, each laid out in layers, then packed on shelves. */

import { integers, type Numbers } from '../../lib/arrays/typed_arrays';
import { pieceLayouts } from '../layered/layered';
import { FOLDING, type Folding, type LayeredInput } from '../layered/layered_input';
import type { Cell } from './cells';
import type { CellEdges } from './hubs';

const GAP = 30;

export interface CellPorts {
  /** Entry, exit and inset of each cell, as in `LayeredInput`. */
  readonly inOffset: Numbers;
  readonly outOffset: Numbers;
  readonly inset: Numbers;
  readonly plug: Numbers;
}

export interface Arrangement {
  readonly width: number;
  readonly height: number;
  /** Top left corner of each cell. */
  readonly left: Numbers;
  readonly top: Numbers;
  /** One polyline per cell edge, empty for skipped ones. */
  readonly routes: (readonly number[])[];
  /** 1 for cells without incoming edges, 2 for cells without outgoing ones. */
  readonly role: Numbers;
}

export function arrange(cells: readonly Cell[], edges: CellEdges, skipped: Numbers, ports: CellPorts, folding = FOLDING): Arrangement {
  const pieces = connectedPieces(cells.length, edges, skipped);
  const local = integers(cells.length);
  const layoutOf = pieceLayouts(pieces.length);
  const placed = pieces.map((piece) => ({
    piece,
    placement: layoutOf(problemOf(piece, cells, edges, ports, local, folding)),
    rest: restSize(piece, cells),
  }));
  // Large pieces first; equal ones in the dump's order, so that they line up.
  if (placed.length > 1) placed.sort((a, b) => b.rest.order - a.rest.order || a.piece.cells[0]! - b.piece.cells[0]!);
  const packing = pack(
    placed.map(({ placement, rest }) => ({
      width: placement.width,
      height: placement.height,
      restWidth: placement.width * rest.scaleX,
      restHeight: placement.height * rest.scaleY,
    })),
    GAP,
    folding,
  );
  const left = new Array<number>(cells.length).fill(0);
  const top = new Array<number>(cells.length).fill(0);
  const routes: (readonly number[])[] = new Array(edges.source.length).fill(NO_ROUTE);
  placed.forEach(({ piece, placement }, i) => {
    const [dx, dy] = [packing.x[i]!, packing.y[i]!];
    piece.cells.forEach((cell, v) => {
      left[cell] = dx + placement.x[v]! - cells[cell]!.width / 2;
      top[cell] = dy + placement.y[v]! - cells[cell]!.height / 2;
    });
    piece.edges.forEach((edge, e) => {
      routes[edge] = placement.routes[e]!.map((at, k) => at + (k % 2 ? dy : dx));
    });
  });
  return { width: packing.width, height: packing.height, left, top, routes, role: roles(cells.length, edges, skipped) };
}

const NO_ROUTE: readonly number[] = [];

interface Piece {
  readonly cells: number[];
  readonly edges: number[];
}

function connectedPieces(count: number, edges: CellEdges, skipped: Numbers): Piece[] {
  if (count === 1) return [{ cells: [0], edges: [] }];
  const root = integers(count);
  for (let i = 0; i < count; i++) root[i] = i;
  const find = (v: number): number => {
    let r = v;
    while (root[r] !== r) {
      root[r] = root[root[r]!]!;
      r = root[r]!;
    }
    return r;
  };
  for (let e = 0; e < edges.source.length; e++) {
    if (skipped[e]) continue;
    const [a, b] = [find(edges.source[e]!), find(edges.target[e]!)];
    if (a !== b) root[Math.max(a, b)] = Math.min(a, b);
  }
  const pieceOf = integers(count, -1);
  const pieces: Piece[] = [];
  for (let i = 0; i < count; i++) {
    const r = find(i);
    if (pieceOf[r]! < 0) pieceOf[r] = pieces.push({ cells: [], edges: [] }) - 1;
    pieces[pieceOf[r]!]!.cells.push(i);
  }
  for (let e = 0; e < edges.source.length; e++) if (!skipped[e]) pieces[pieceOf[find(edges.source[e]!)]!]!.edges.push(e);
  return pieces;
}

/** `local`: scratch for the position of each cell in its piece. */
function problemOf(
  piece: Piece,
  cells: readonly Cell[],
  edges: CellEdges,
  ports: CellPorts,
  local: Numbers,
  folding: Folding,
): LayeredInput {
  piece.cells.forEach((cell, i) => {
    local[cell] = i;
  });
  const of = (numbers: Numbers): number[] => piece.cells.map((cell) => numbers[cell]!);
  return {
    count: piece.cells.length,
    width: piece.cells.map((cell) => cells[cell]!.width),
    height: piece.cells.map((cell) => cells[cell]!.height),
    restWidth: piece.cells.map((cell) => cells[cell]!.restWidth),
    restHeight: piece.cells.map((cell) => cells[cell]!.restHeight),
    inOffset: of(ports.inOffset),
    outOffset: of(ports.outOffset),
    inset: of(ports.inset),
    plug: of(ports.plug),
    source: piece.edges.map((edge) => local[edges.source[edge]!]!),
    target: piece.edges.map((edge) => local[edges.target[edge]!]!),
    weight: piece.edges.map((edge) => edges.weight[edge]!),
    folding,
  };
}

const AFTER_SINGLES = 1e6;

/** Approximate sizes with everything collapsed, by which pieces are ordered and put on shelves. */
function restSize(piece: Piece, cells: readonly Cell[]): { order: number; scaleX: number; scaleY: number } {
  let [area, restArea] = [0, 0];
  for (const cell of piece.cells) {
    const { width, height, restWidth, restHeight } = cells[cell]!;
    area += width * height;
    restArea += restWidth * restHeight;
  }
  const scale = Math.sqrt(restArea / Math.max(1, area));
  // Single cells come last, by height: shelves of equal height waste no space.
  const order = piece.cells.length > 1 ? AFTER_SINGLES + restArea : cells[piece.cells[0]!]!.restHeight;
  return { order, scaleX: scale, scaleY: scale };
}

function roles(count: number, edges: CellEdges, skipped: Numbers): Numbers {
  const role = integers(count, 3);
  for (let e = 0; e < edges.source.length; e++) {
    if (skipped[e]) continue;
    role[edges.target[e]!]! &= ~1;
    role[edges.source[e]!]! &= ~2;
  }
  return role;
}

// Puts rectangles on shelves, from left to right and top to bottom, with a target proportion.

interface Rectangle {
  readonly width: number;
  readonly height: number;
  /** Sizes with all scopes collapsed: they decide which shelf a rectangle is on. */
  readonly restWidth: number;
  readonly restHeight: number;
}

interface Packing {
  readonly width: number;
  readonly height: number;
  /** Top left corners. */
  readonly x: number[];
  readonly y: number[];
}

/** This few are put in one row or one column. */
const FEW = 2;
const MUCH = 1.2;
/** LayoutJob width by height. */
const PROPORTION = 1.6;
/** With expanded scopes, the shelves stay up to these proportions. */
const [NARROWEST, WIDEST] = [0.2, 6];

function pack(rectangles: readonly Rectangle[], gap: number, { proportion: wanted }: Folding): Packing {
  const only = rectangles[0];
  if (rectangles.length === 1 && only) return { width: only.width, height: only.height, x: [0], y: [0] };
  if (rectangles.length <= FEW) return packFew(rectangles, gap, wanted);
  const rest = shelves(
    rectangles.map((r) => r.restWidth),
    rectangles.map((r) => r.restHeight),
    gap,
  );
  const packing = stack(rectangles, rest, gap);
  const proportion = packing.width / Math.max(1, packing.height);
  if (proportion > NARROWEST && proportion < WIDEST) return packing;
  const now = shelves(
    rectangles.map((r) => r.width),
    rectangles.map((r) => r.height),
    gap,
  );
  return stack(rectangles, now, gap);
}

/** Beside each other, or below if they appear much larger so. */
function packFew(rectangles: readonly Rectangle[], gap: number, proportion: number): Packing {
  const [beside, below] = [[0], rectangles.map((_, i) => i)].map((starts) => stack(rectangles, starts, gap)) as [Packing, Packing];
  const size = ({ width, height }: Packing): number => Math.max(width * proportion, height);
  return size(below) * MUCH < size(beside) ? below : beside;
}

/** Index of the first rectangle of each shelf. */
function shelves(widths: readonly number[], heights: readonly number[], gap: number): number[] {
  let [area, widest] = [0, 0];
  for (let i = 0; i < widths.length; i++) {
    area += (widths[i]! + gap) * (heights[i]! + gap);
    widest = Math.max(widest, widths[i]!);
  }
  const limit = Math.max(Math.sqrt(area * PROPORTION), widest);
  const starts = [0];
  let x = 0;
  for (let i = 0; i < widths.length; i++) {
    if (x > 0 && x + widths[i]! > limit) {
      starts.push(i);
      x = 0;
    }
    x += widths[i]! + gap;
  }
  return starts;
}

function stack(rectangles: readonly Rectangle[], starts: readonly number[], gap: number): Packing {
  const x: number[] = [];
  const y: number[] = [];
  let [width, top] = [0, 0];
  starts.forEach((start, shelf) => {
    let [left, tallest] = [0, 0];
    for (let i = start; i < (starts[shelf + 1] ?? rectangles.length); i++) {
      x.push(left);
      y.push(top);
      left += rectangles[i]!.width + gap;
      tallest = Math.max(tallest, rectangles[i]!.height);
    }
    width = Math.max(width, left - gap);
    top += tallest + gap;
  });
  return { width, height: Math.max(0, top - gap), x, y };
}
