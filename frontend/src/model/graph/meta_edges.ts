/**
 * Edges as drawn: each edge of the graph is lifted to the two siblings that contain its ends, and equal pairs become one meta edge. Those
 * of scope `k` are `start[k] … start[k + 1]`.
 */

import type { EdgeColumns } from '../wire/graph';
import type { ScopeTree } from './tree';

export interface MetaEdges {
  readonly start: Int32Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
  /** Data and control edges in a meta edge. */
  readonly data: Int32Array;
  readonly control: Int32Array;
  /** One of its edges in the graph, a data edge if there is one. */
  readonly edge: Int32Array;
  /** 1 where all data edges of a meta edge carry the same tensor. */
  readonly single: Uint8Array;
  /** Data edges that reach an entity from outside its scope, and those that leave its scope from it. */
  readonly fromOutside: Int32Array;
  readonly toOutside: Int32Array;
}

export function buildMetaEdges(tree: ScopeTree, edges: EdgeColumns): MetaEdges {
  const entities = tree.nodeCount + tree.scopeCount;
  const fromOutside = new Int32Array(entities);
  const toOutside = new Int32Array(entities);
  const { lifted, bySource } = liftEdges(tree, edges, fromOutside, toOutside);
  return { ...bundle(tree, edges, lifted, bySource), fromOutside, toOutside };
}

interface Lifted {
  readonly source: Int32Array;
  readonly target: Int32Array;
}

/** Lifts both ends of each edge to siblings; an edge between a scope and its content vanishes (source -1). */
function liftEdges(
  tree: ScopeTree,
  edges: EdgeColumns,
  fromOutside: Int32Array,
  toOutside: Int32Array,
): { lifted: Lifted; bySource: Int32Array } {
  const { nodeCount, parent, depth, entityOf } = tree;
  const count = edges.source.length;
  const lifted = { source: new Int32Array(count).fill(-1), target: new Int32Array(count) };
  const bySource = new Int32Array(nodeCount + tree.scopeCount + 1);
  // No destructuring, no closures: most of these loops run before the browser has compiled them.
  for (let edge = 0; edge < count; edge++) {
    let a = entityOf[edges.source[edge]!]!;
    let b = entityOf[edges.target[edge]!]!;
    let da = parent[a]! < 0 ? 0 : depth[parent[a]!]! + 1;
    let db = parent[b]! < 0 ? 0 : depth[parent[b]!]! + 1;
    const data = edges.control[edge] ? 0 : 1;
    while (a !== b && parent[a] !== parent[b]) {
      const up = da >= db;
      if (up && db >= da) {
        // At equal depth both go up.
        fromOutside[b]! += data;
        b = nodeCount + parent[b]!;
        db--;
      }
      if (up) {
        toOutside[a]! += data;
        a = nodeCount + parent[a]!;
        da--;
      } else {
        fromOutside[b]! += data;
        b = nodeCount + parent[b]!;
        db--;
      }
    }
    if (a === b) continue;
    lifted.source[edge] = a;
    lifted.target[edge] = b;
    bySource[a + 1]!++;
  }
  return { lifted, bySource };
}

function bundle(tree: ScopeTree, edges: EdgeColumns, lifted: Lifted, bySource: Int32Array): Omit<MetaEdges, 'fromOutside' | 'toOutside'> {
  const order = sortBySource(lifted.source, bySource);
  const seen = new Int32Array(bySource.length).fill(-1);
  const start = new Int32Array(tree.scopeCount + 1);
  const out = {
    source: grow(order.length),
    target: grow(order.length),
    data: grow(order.length),
    control: grow(order.length),
    edge: grow(order.length),
    single: new Uint8Array(order.length).fill(1),
  };
  let count = 0;
  for (let scope = 0; scope < tree.scopeCount; scope++) {
    start[scope] = count;
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
      const source = tree.children[i]!;
      const own = count;
      for (let j = bySource[source]!; j < bySource[source + 1]!; j++) {
        const edge = order[j]!;
        const target = lifted.target[edge]!;
        let meta = seen[target]!;
        if (meta < own || out.source[meta] !== source) {
          meta = count++;
          seen[target] = meta;
          out.source[meta] = source;
          out.target[meta] = target;
          out.edge[meta] = edge;
        }
        const control = edges.control[edge]!;
        const first = out.edge[meta]!;
        if (!control && out.data[meta] === 0) out.edge[meta] = edge;
        else if (!control && (edges.source[edge] !== edges.source[first] || edges.slot[edge] !== edges.slot[first])) out.single[meta] = 0;
        if (control) out.control[meta]!++;
        else out.data[meta]!++;
      }
    }
  }
  start[tree.scopeCount] = count;
  const cut = (array: Int32Array): Int32Array => array.slice(0, count);
  return {
    start,
    source: cut(out.source),
    target: cut(out.target),
    data: cut(out.data),
    control: cut(out.control),
    edge: cut(out.edge),
    single: out.single.slice(0, count),
  };
}

const grow = (length: number): Int32Array => new Int32Array(length);

/** Counting sort of edges by lifted source; turns the counts in `bySource` into offsets. */
function sortBySource(source: Int32Array, bySource: Int32Array): Int32Array {
  for (let i = 1; i < bySource.length; i++) bySource[i]! += bySource[i - 1]!;
  const fill = bySource.slice();
  const order = new Int32Array(bySource[bySource.length - 1]!);
  for (let edge = 0; edge < source.length; edge++) {
    const from = source[edge]!;
    if (from >= 0) order[fill[from]!++] = edge;
  }
  return order;
}
