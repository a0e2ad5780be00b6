/** Layout of one scope from the sizes of its children: small nodes attached, twins in blocks, hubs excluded, the rest in layers. */

import { floats, integers, type Numbers } from '../../lib/arrays/typed_arrays';
import { type Bridges, bridgeFlags, plugX } from './bridges';
import { attachAuxiliary, type BoxSizes, type Cell, type Cells, groupTwins, makeCells } from './cells';
import { type Arrangement, arrange, type CellPorts } from './components';
import { type CellEdges, hubEdges } from './hubs';
import type { ScopeGraph } from './scope_graph';
import { HEADER, PADDING } from './sizes';

export interface ScopeLayout {
  readonly width: number;
  readonly height: number;
  /** Where edges enter at the top and leave at the bottom, from the scope's left side. */
  readonly plug: number;
  /** Top left corner of each child from the scope's, and its flags (bridges.ts). */
  readonly left: Numbers;
  readonly top: Numbers;
  readonly flags: Numbers;
  /** One polyline per meta edge, in the scope's frame; empty if it is only drawn on demand. */
  readonly routes: readonly (readonly number[])[];
  /** Rectangles (x, y, width, height) behind blocks of twins. */
  readonly blocks: readonly number[];
}

export interface ScopeContext {
  readonly sizes: BoxSizes;
  readonly isAuxiliary: (entity: number) => boolean;
  readonly isScope: (entity: number) => boolean;
  /** Edges enter at one point: an expanded scope. */
  readonly isOpen: (entity: number) => boolean;
  /** Data edges that cross the border of an entity's scope. */
  readonly bridges: Bridges;
}

/** Space above and below the content for edges from outside to fan out. */
const BRIDGE_ROOM = 18;

export function layoutScope(graph: ScopeGraph, context: ScopeContext): ScopeLayout {
  const count = graph.entities.length;
  const host = attachAuxiliary(graph, context.isAuxiliary);
  const isHost = integers(count);
  for (let i = 0; i < count; i++) if (host[i]! >= 0) isHost[host[i]!] = 1;
  const single = (i: number): boolean => host[i]! < 0 && !isHost[i] && !context.isScope(graph.entities[i]!);
  const { group, groups } = groupTwins(graph, single, context.isAuxiliary);
  const cells = makeCells(graph, host, group, groups, context.sizes, integers(count));
  const edges = cellEdges(graph, cells);
  const hub = hubEdges(cells.cells, edges);
  const arrangement = arrange(cells.cells, edges, hub, cellPorts(graph, cells.cells, context));
  return finish(graph, host, cells, edges, hub, arrangement, context);
}

/** Meta edges between cells, without duplicates. */
function cellEdges(graph: ScopeGraph, { cells, cellOf }: Cells): CellEdges {
  const edges: CellEdges = { source: [], target: [], meta: [], control: [], weight: [] };
  const seen = new Map<number, number>();
  for (let e = 0; e < graph.source.length; e++) {
    const [a, b] = [cellOf[graph.source[e]!]!, cellOf[graph.target[e]!]!];
    if (!graph.shapes[e] || a === b) continue;
    const key = a * cells.length + b;
    const known = seen.get(key);
    if (known !== undefined) {
      edges.weight[known]! += graph.weight[e]!;
      continue;
    }
    seen.set(key, edges.source.length);
    edges.source.push(a);
    edges.target.push(b);
    edges.meta.push(e);
    edges.control.push(graph.control[e]!);
    edges.weight.push(graph.weight[e]!);
  }
  return edges;
}

function cellPorts(graph: ScopeGraph, cells: readonly Cell[], { sizes, isOpen }: ScopeContext): CellPorts {
  const ports = {
    inOffset: floats(cells.length),
    outOffset: floats(cells.length),
    inset: floats(cells.length),
    plug: integers(cells.length),
  };
  cells.forEach((cell, c) => {
    if (cell.main < 0) return;
    const entity = graph.entities[cell.main]!;
    ports.inOffset[c] = cell.left[0]! + sizes.inX[entity]! - cell.width / 2;
    ports.outOffset[c] = cell.left[0]! + sizes.outX[entity]! - cell.width / 2;
    ports.inset[c] = (cell.height - sizes.height[entity]!) / 2;
    ports.plug[c] = isOpen(entity) ? 1 : 0;
  });
  return ports;
}

function finish(
  graph: ScopeGraph,
  host: Numbers,
  { cells, cellOf }: Cells,
  edges: CellEdges,
  hub: Numbers,
  placed: Arrangement,
  context: ScopeContext,
): ScopeLayout {
  const count = graph.entities.length;
  const left = floats(count);
  const top = floats(count);
  const flags = bridgeFlags(graph, cells, cellOf, host, edges, hub, placed, context.bridges, context.sizes);
  const root = graph.scope === 0;
  const topRoom = PADDING + (root ? 0 : HEADER) + (flags.bridgesIn ? BRIDGE_ROOM : 0);
  cells.forEach((cell, c) => {
    cell.members.forEach((child, k) => {
      left[child] = PADDING + placed.left[c]! + cell.left[k]!;
      top[child] = topRoom + placed.top[c]! + cell.top[k]!;
    });
  });
  const width = placed.width + 2 * PADDING;
  const height = topRoom + placed.height + PADDING + (flags.bridgesOut ? BRIDGE_ROOM : 0);
  const routes: (readonly number[])[] = new Array(graph.source.length).fill([]);
  edges.meta.forEach((meta, e) => {
    routes[meta] = placed.routes[e]!.map((at, k) => at + (k % 2 ? topRoom : PADDING));
  });
  addDirectRoutes(routes, { graph, left, top, sizes: context.sizes }, host);
  const blocks = cells.flatMap((cell, c) =>
    cell.main < 0 ? [PADDING + placed.left[c]!, topRoom + placed.top[c]!, cell.width, cell.height] : [],
  );
  return { width, height, plug: plugX(graph, left, flags.flags, context.sizes, width), left, top, flags: flags.flags, routes, blocks };
}

/** A separate function for the reason given in messages.ts. */
function addDirectRoutes(routes: (readonly number[])[], boxes: Boxes, host: Numbers): void {
  const { source, target, shapes } = boxes.graph;
  for (let e = 0; e < source.length; e++) {
    if (host[source[e]!] === target[e]) routes[e] = attachedRoute(boxes, source[e]!, target[e]!);
    else if (!shapes[e]) routes[e] = directRoute(boxes, source[e]!, target[e]!);
  }
}

interface Boxes {
  readonly graph: ScopeGraph;
  readonly left: Numbers;
  readonly top: Numbers;
  readonly sizes: BoxSizes;
}

/** From the right side of an attached node to the left side of its host. */
function attachedRoute({ graph, left, top, sizes }: Boxes, from: number, to: number): number[] {
  const [a, b] = [graph.entities[from]!, graph.entities[to]!];
  const x1 = left[from]! + sizes.width[a]!;
  const y1 = top[from]! + sizes.height[a]! / 2;
  const x2 = left[to]!;
  const margin = Math.min(8, sizes.height[b]! / 2);
  const y2 = Math.min(Math.max(y1, top[to]! + margin), top[to]! + sizes.height[b]! - margin);
  const middle = (x1 + x2) / 2;
  return y1 === y2 ? [x1, y1, x2, y2] : [x1, y1, middle, y1, middle, y2, x2, y2];
}

/** Control edges that the layout ignored are drawn if they are short; others appear with the selection. */
const SHORT_X = 260;
const SHORT_Y = 200;

/** An edge that the layout ignored: one curve, or nothing. */
function directRoute({ graph, left, top, sizes }: Boxes, from: number, to: number): number[] {
  const [a, b] = [graph.entities[from]!, graph.entities[to]!];
  const route = [left[from]! + sizes.outX[a]!, top[from]! + sizes.height[a]!, left[to]! + sizes.inX[b]!, top[to]!] as const;
  const short = Math.abs(route[2] - route[0]) < SHORT_X && Math.abs(route[3] - route[1]) < SHORT_Y;
  return short ? [...route] : [];
}
