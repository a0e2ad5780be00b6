/** Cells: units that the layered layout moves as one box. A child with its attached small nodes, or a block of twins. */

import { integers, type Numbers } from '../../lib/arrays/typed_arrays';
import type { ScopeGraph } from './scope_graph';

export interface BoxSizes {
  readonly width: Float32Array;
  readonly height: Float32Array;
  readonly restWidth: Float32Array;
  readonly restHeight: Float32Array;
  /** Where edges enter and leave an entity's box, from its left side. */
  readonly inX: Float32Array;
  readonly outX: Float32Array;
}

export interface Cell {
  /** The main child of the cell; -1 for a block. */
  readonly main: number;
  readonly members: number[];
  /** Top left corners of the members in the cell. */
  readonly left: number[];
  readonly top: number[];
  width: number;
  height: number;
  restWidth: number;
  restHeight: number;
}

const ATTACHED_GAP_X = 14;
const ATTACHED_GAP_Y = 5;
const BLOCK_GAP = 6;
const BLOCK_PADDING = 8;
/** LayoutJob width by height of a block. */
const BLOCK_PROPORTION = 2.4;

export interface Cells {
  readonly cells: Cell[];
  /** Cell of each child. */
  readonly cellOf: Numbers;
}

export function makeCells(graph: ScopeGraph, host: Numbers, group: Numbers, groups: number, sizes: BoxSizes, cellOf: Numbers): Cells {
  const cells: Cell[] = [];
  const attached: (number[] | undefined)[] = new Array(graph.entities.length).fill(undefined);
  const blocks: number[][] = Array.from({ length: groups }, () => []);
  for (let i = 0; i < graph.entities.length; i++) {
    const to = host[i]!;
    if (to >= 0) {
      const list = attached[to];
      if (list) list.push(i);
      else attached[to] = [i];
    } else if (group[i]! >= 0) blocks[group[i]!]!.push(i);
  }
  for (let i = 0; i < graph.entities.length; i++) {
    if (host[i]! >= 0) continue;
    const block = group[i]! >= 0 ? blocks[group[i]!]! : undefined;
    if (block && block[0] !== i) continue;
    const cell = block ? blockCell(graph, block, sizes) : mainCell(graph, i, attached, sizes);
    for (const member of cell.members) cellOf[member] = cells.length;
    cells.push(cell);
  }
  return { cells, cellOf };
}

function mainCell(graph: ScopeGraph, main: number, attached: readonly (number[] | undefined)[], sizes: BoxSizes): Cell {
  const entity = graph.entities[main]!;
  const [width, height] = [sizes.width[entity]!, sizes.height[entity]!];
  const cell: Cell = {
    main,
    members: [main],
    left: [0],
    top: [0],
    width,
    height,
    restWidth: sizes.restWidth[entity]!,
    restHeight: sizes.restHeight[entity]!,
  };
  const small = attached[main];
  if (small) addAttached(graph, cell, small, attached, sizes);
  return cell;
}

/** Stacks attached nodes left of the main one, level with its centre (or below the title of a tall one). */
function addAttached(
  graph: ScopeGraph,
  cell: Cell,
  small: readonly number[],
  attached: readonly (number[] | undefined)[],
  sizes: BoxSizes,
): void {
  const widthOf = (child: number): number => sizes.width[graph.entities[child]!]!;
  const heightOf = (child: number): number => sizes.height[graph.entities[child]!]!;
  let [column, outer, stack] = [0, 0, -ATTACHED_GAP_Y];
  for (const child of small) {
    column = Math.max(column, widthOf(child));
    for (const far of attached[child] ?? []) outer = Math.max(outer, widthOf(far) + ATTACHED_GAP_X);
    stack += heightOf(child) + ATTACHED_GAP_Y;
  }
  const shift = outer + column + ATTACHED_GAP_X;
  const height = Math.max(cell.height, stack);
  let y = cell.height > cell.restHeight ? 0 : (height - stack) / 2;
  cell.left[0] = shift;
  cell.top[0] = (height - cell.height) / 2;
  for (const child of small) {
    const left = outer + column - widthOf(child);
    push(cell, child, left, y);
    for (const far of attached[child] ?? []) push(cell, far, left - ATTACHED_GAP_X - widthOf(far), y);
    y += heightOf(child) + ATTACHED_GAP_Y;
  }
  cell.width += shift;
  cell.restWidth += shift;
  cell.restHeight = Math.max(cell.restHeight, stack);
  cell.height = height;
}

function blockCell(graph: ScopeGraph, block: readonly number[], sizes: BoxSizes): Cell {
  let [widest, tallest] = [0, 0];
  for (const child of block) {
    widest = Math.max(widest, sizes.width[graph.entities[child]!]!);
    tallest = Math.max(tallest, sizes.height[graph.entities[child]!]!);
  }
  const [stepX, stepY] = [widest + BLOCK_GAP, tallest + BLOCK_GAP];
  const columns = Math.max(1, Math.min(block.length, Math.round(Math.sqrt((block.length * BLOCK_PROPORTION * stepY) / stepX))));
  const rows = Math.ceil(block.length / columns);
  const width = columns * stepX - BLOCK_GAP + 2 * BLOCK_PADDING;
  const height = rows * stepY - BLOCK_GAP + 2 * BLOCK_PADDING;
  const cell: Cell = { main: -1, members: [], left: [], top: [], width, height, restWidth: width, restHeight: height };
  block.forEach((child, i) => {
    push(
      cell,
      child,
      BLOCK_PADDING + (i % columns) * stepX + (widest - sizes.width[graph.entities[child]!]!) / 2,
      BLOCK_PADDING + Math.floor(i / columns) * stepY,
    );
  });
  return cell;
}

function push(cell: Cell, child: number, left: number, top: number): void {
  cell.members.push(child);
  cell.left.push(left);
  cell.top.push(top);
}

// Twins: small children with exactly the same neighbours (a hundred unused constants, all inputs of one call). They become one block.

const FEWEST_AUXILIARY = 4;
const FEWEST = 10;

/** Group of each child, or -1; groups are numbered from 0. `free[i]`: the child may join a group. */
export function groupTwins(
  graph: ScopeGraph,
  free: (child: number) => boolean,
  auxiliary: (entity: number) => boolean,
): { group: Numbers; groups: number } {
  const count = graph.entities.length;
  const group = integers(count, -1);
  if (count < FEWEST_AUXILIARY) return { group, groups: 0 };
  const keys = neighbourKeys(graph, free);
  const members = new Map<string, number[]>();
  for (let i = 0; i < count; i++) {
    const key = keys[i];
    if (key === undefined) continue;
    const twins = members.get(key);
    if (twins) twins.push(i);
    else members.set(key, [i]);
  }
  let groups = 0;
  for (const twins of members.values()) {
    const fewest = twins.every((i) => auxiliary(graph.entities[i]!)) ? FEWEST_AUXILIARY : FEWEST;
    if (twins.length < fewest) continue;
    for (const i of twins) group[i] = groups;
    groups++;
  }
  return { group, groups };
}

/** Children with more neighbours than this are not twins, so keys stay short. */
const MOST_NEIGHBOURS = 8;

function neighbourKeys(graph: ScopeGraph, free: (child: number) => boolean): (string | undefined)[] {
  const neighbours: (number[] | undefined)[] = [];
  for (let i = 0; i < graph.entities.length; i++) neighbours.push(free(i) ? [] : undefined);
  for (let e = 0; e < graph.source.length; e++) {
    neighbours[graph.source[e]!]?.push(2 * graph.target[e]!);
    neighbours[graph.target[e]!]?.push(2 * graph.source[e]! + 1);
  }
  return neighbours.map((list) => (list && list.length <= MOST_NEIGHBOURS ? list.sort((a, b) => a - b).join() : undefined));
}

// Small nodes are drawn beside their consumer: an auxiliary node (constant, variable read) with one consumer among its siblings is
// attached to it; a node that feeds only an attached node follows it.

/** More than this beside one node would hide it; the others stay in the flow. */
const MOST_ATTACHED = 6;

/** The child to which each child is attached, or -1. Chains have at most two links. */
export function attachAuxiliary(graph: ScopeGraph, auxiliary: (entity: number) => boolean): Numbers {
  const count = graph.entities.length;
  const host = integers(count, -1);
  const candidate = integers(count);
  let any = false;
  for (let i = 0; i < count; i++) {
    candidate[i] = auxiliary(graph.entities[i]!) ? 1 : 0;
    any ||= candidate[i] === 1;
  }
  if (!any) return host;
  const { consumer, sources } = consumers(graph);
  const attached = integers(count);
  // Sources before their readers: a reader hosts a node only while it is attached itself.
  for (const wanted of [0, 1]) {
    for (let i = 0; i < count; i++) {
      const to = consumer[i]!;
      if (!candidate[i] || host[i]! >= 0 || to < 0 || attached[to]! >= MOST_ATTACHED) continue;
      if (sources[i] !== wanted || (wanted === 1 && attached[i] !== 1)) continue;
      if (host[to]! >= 0) continue;
      host[i] = to;
      attached[to]!++;
    }
  }
  keepChainsShort(host);
  return host;
}

/** The only consumer of each child (-1: none or several), and how many children feed it. */
function consumers(graph: ScopeGraph): { consumer: Numbers; sources: Numbers } {
  const consumer = integers(graph.entities.length, -1);
  const sources = integers(graph.entities.length);
  for (let e = 0; e < graph.source.length; e++) {
    const [a, b] = [graph.source[e]!, graph.target[e]!];
    consumer[a] = consumer[a] === -1 ? b : -2;
    sources[b]!++;
  }
  return { consumer, sources };
}

function keepChainsShort(host: Numbers): void {
  for (let i = 0; i < host.length; i++) {
    const first = host[i]!;
    if (first < 0) continue;
    const second = host[first]!;
    if (second >= 0 && host[second]! >= 0) host[i] = -1;
  }
}
