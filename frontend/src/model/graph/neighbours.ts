/** Edges of each node, their display with some scopes collapsed, and the targets of arrow keys along them. */

import { type Adjacency, adjacency, placesOf } from '../../lib/arrays/typed_arrays';
import type { EdgeColumns, GraphData } from '../wire/graph';
import type { MetaEdges } from './meta_edges';
import { type ScopeTree, shownEntity } from './tree';

interface NodeEdges {
  readonly outgoing: Adjacency;
  readonly incoming: Adjacency;
}

const known = new WeakMap<EdgeColumns, NodeEdges>();

export function nodeEdges(nodeCount: number, edges: EdgeColumns): NodeEdges {
  let found = known.get(edges);
  if (!found) {
    found = { outgoing: adjacency(nodeCount, edges.source, edges.target), incoming: adjacency(nodeCount, edges.target, edges.source) };
    known.set(edges, found);
  }
  return found;
}

/** A visible entity connected to the selected one. */
export interface Neighbour {
  readonly entity: number;
  readonly input: boolean;
  /** Whether only control edges lead there. */
  readonly control: boolean;
}

/** More neighbours than this cannot be distinguished on a screen. */
const MOST = 600;

/** Visible neighbours of an entity: nodes, or the collapsed scopes that contain them. Inputs first, in order. */
export function shownNeighbours(tree: ScopeTree, edges: EdgeColumns, meta: MetaEdges, open: Uint8Array, entity: number): Neighbour[] {
  if (entity < tree.nodeCount) return ofNode(tree, edges, open, entity);
  const owner = tree.owner[entity - tree.nodeCount]!;
  return owner >= 0 ? ofNode(tree, edges, open, owner) : ofScope(tree, meta, open, entity);
}

function ofNode(tree: ScopeTree, edges: EdgeColumns, open: Uint8Array, node: number): Neighbour[] {
  const { incoming, outgoing } = nodeEdges(tree.nodeCount, edges);
  const self = shownEntity(tree, open, tree.entityOf[node]!);
  const found = new Map<string, Neighbour>();
  for (const [list, input] of [
    [incoming, true],
    [outgoing, false],
  ] as const) {
    for (let i = list.start[node]!; i < list.start[node + 1]! && found.size < MOST; i++) {
      const entity = shownEntity(tree, open, tree.entityOf[list.list[i]!]!);
      if (entity !== self) add(found, { entity, input, control: edges.control[list.edge[i]!] === 1 });
    }
  }
  return [...found.values()];
}

/** The neighbours of a scope are its connected siblings. */
function ofScope(tree: ScopeTree, meta: MetaEdges, open: Uint8Array, entity: number): Neighbour[] {
  const scope = tree.parent[entity]!;
  const found = new Map<string, Neighbour>();
  for (const input of [true, false]) {
    for (let m = meta.start[scope]!; m < meta.start[scope + 1]! && found.size < MOST; m++) {
      const [from, to] = [meta.source[m]!, meta.target[m]!];
      if ((input ? to : from) !== entity) continue;
      add(found, { entity: shownEntity(tree, open, input ? from : to), input, control: meta.data[m] === 0 });
    }
  }
  return [...found.values()];
}

function add(found: Map<string, Neighbour>, neighbour: Neighbour): void {
  const key = `${neighbour.entity}${neighbour.input}`;
  const before = found.get(key);
  if (!before || (before.control && !neighbour.control)) found.set(key, neighbour);
}

/** A set of nodes for drawing: 1 for each of them, and their number in each scope. */
export interface Marks {
  readonly nodes: Uint8Array;
  readonly inScope: Int32Array;
}

/** Null for no rows: nothing to draw. */
export function markNodes(tree: ScopeTree, rows: Iterable<number>): Marks | null {
  const nodes = new Uint8Array(tree.nodeCount);
  for (const row of rows) if (row >= 0 && row < nodes.length) nodes[row] = 1;
  const known = placesOf(nodes);
  return known.length === 0 ? null : { nodes, inScope: countInScopes(tree, known) };
}

/** Number of nodes of a set in each scope, including owned scopes. */
export function countInScopes(tree: ScopeTree, rows: Iterable<number>): Int32Array {
  const counts = new Int32Array(tree.scopeCount);
  for (const row of rows) {
    const entity = tree.entityOf[row]!;
    if (entity >= tree.nodeCount) counts[entity - tree.nodeCount]!++;
    for (let scope = tree.parent[entity]!; scope >= 0; scope = tree.parent[tree.nodeCount + scope]!) counts[scope]!++;
  }
  return counts;
}

// Targets of arrow keys from an entity.

export type Direction = 'up' | 'down' | 'left' | 'right';

/** Boxes in the frame of their scope. */
interface Boxes {
  readonly left: ArrayLike<number>;
  readonly top: ArrayLike<number>;
  readonly width: ArrayLike<number>;
  readonly height: ArrayLike<number>;
}

/** Up and down follow edges (data before control); left and right go to the nearest sibling on that side. -1: none. */
export function move(tree: ScopeTree, boxes: Boxes, neighbours: readonly Neighbour[], entity: number, direction: Direction): number {
  if (direction === 'up' || direction === 'down') return alongEdge(neighbours, direction === 'up');
  return beside(tree, boxes, entity, direction === 'right');
}

function alongEdge(neighbours: readonly Neighbour[], input: boolean): number {
  const side = neighbours.filter((neighbour) => neighbour.input === input);
  return (side.find((neighbour) => !neighbour.control) ?? side[0])?.entity ?? -1;
}

/** Horizontal distance counts once, vertical distance three times: the next one in the row wins over one above it. */
function beside(tree: ScopeTree, boxes: Boxes, entity: number, right: boolean): number {
  const scope = tree.parent[entity]!;
  if (scope < 0) return -1;
  const centre = (of: number): [number, number] => [boxes.left[of]! + boxes.width[of]! / 2, boxes.top[of]! + boxes.height[of]! / 2];
  const [x, y] = centre(entity);
  let nearest = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
    const other = tree.children[i]!;
    const [ox, oy] = centre(other);
    const ahead = right ? ox - x : x - ox;
    if (other === entity || ahead <= 0) continue;
    const distance = ahead + 3 * Math.abs(oy - y);
    if (distance >= least) continue;
    least = distance;
    nearest = other;
  }
  return nearest;
}

/** Maximum number of gradients shown for one node; all are in the list of tensors. */
const MOST_GRADIENTS = 20;

/** Rows of the nodes that compute the gradients of a node, by TensorFlow's naming. */
export function gradientsOf(graph: GraphData, node: string): number[] {
  const { names } = graph;
  const [inTape, inFunction] = [`gradient_tape/${node}`, `gradients/${node}_grad/`];
  if (!names.whole().includes(inTape) && !names.whole().includes(inFunction)) return [];
  const found: number[] = [];
  for (let row = 0; row < graph.nodeCount && found.length < MOST_GRADIENTS; row++) {
    const name = names.at(row);
    const at = name.indexOf(inTape);
    const whole = at >= 0 && (name.length === at + inTape.length || name[at + inTape.length] === '/');
    if ((whole && (at === 0 || name[at - 1] === '/')) || name.startsWith(inFunction)) found.push(row);
  }
  return found;
}
