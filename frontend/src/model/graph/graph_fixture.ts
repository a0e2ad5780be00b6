/** Small graphs for tests, written as lists. */

import { DictColumn, TextColumn } from '../../lib/arrays/columns';
import type { FunctionInfo, GraphData } from '../wire/graph';
import type { StepStatistics } from '../wire/step_statistics';
import { buildTree } from './build_tree';
import { buildMetaEdges, type MetaEdges } from './meta_edges';
import type { ScopeTree } from './tree';

/** A node by its path, with its op type if that is not the label without its number. */
export type NodeSpec = string | { readonly path: string; readonly op?: string; readonly layer?: string; readonly shape?: string };

/** `a -> b` for data, `a => b` for control, each end a path. */
export function makeGraph(
  nodes: readonly NodeSpec[],
  edges: readonly string[] = [],
  functions: Record<string, FunctionInfo> = {},
): GraphData {
  const specs = nodes.map((node) => (typeof node === 'string' ? { path: node } : node));
  const paths = specs.map((spec) => spec.path);
  const ends = edges.map((edge) => edge.split(/ [-=]> /) as [string, string]);
  const row = (path: string): number => {
    const found = paths.indexOf(path);
    if (found < 0) throw new Error(`no node ${path}`);
    return found;
  };
  const opOf = (spec: Exclude<NodeSpec, string>): string => spec.op ?? spec.path.slice(spec.path.lastIndexOf('/') + 1).replace(/_\d+$/, '');
  const text = TextColumn.of(paths);
  return {
    id: 'g',
    name: 'test',
    nodeCount: nodes.length,
    names: text,
    paths: text,
    opTypes: DictColumn.of(specs.map(opOf)),
    devices: DictColumn.of(specs.map(() => '/CPU:0')),
    layers: DictColumn.of(specs.map((spec) => spec.layer ?? '')),
    functions: DictColumn.of(specs.map(() => '')),
    dtypes: DictColumn.of(specs.map(() => 'float32')),
    shapes: DictColumn.of(specs.map((spec) => spec.shape ?? '')),
    kinds: DictColumn.of(specs.map(() => '')),
    variables: DictColumn.of(specs.map(() => '')),
    slots: new Int32Array(nodes.length).fill(1),
    slotShapes: new Map(),
    frozen: [],
    layerCalls: [],
    edges: {
      source: Int32Array.from(ends, ([source]) => row(source)),
      target: Int32Array.from(ends, ([, target]) => row(target)),
      slot: new Int32Array(edges.length),
      input: new Int32Array(edges.length),
      control: Uint8Array.from(edges, (edge) => (edge.includes('=>') ? 1 : 0)),
    },
    functionInfo: functions,
  };
}

export function treeOf(graph: GraphData, callers: readonly string[] = []): ScopeTree {
  const rows = new Set(callers.map((name) => indexOf(graph, name)));
  return buildTree({ paths: graph.paths, opTypes: graph.opTypes, callers: rows });
}

export function treeAndMeta(graph: GraphData): { tree: ScopeTree; meta: MetaEdges } {
  const tree = treeOf(graph);
  return { tree, meta: buildMetaEdges(tree, graph.edges) };
}

export function indexOf(graph: GraphData, path: string): number {
  for (let row = 0; row < graph.nodeCount; row++) if (graph.paths.at(row) === path) return row;
  throw new Error(`no node ${path}`);
}

/** Statistics of some nodes; what is not given is 0, and the size is 10. */
export function makeStep(rows: readonly ({ node: number } & Partial<Record<string, number>>)[]): StepStatistics {
  return {
    step: 3,
    count: rows.length,
    node: Int32Array.from(rows, (row) => row.node),
    slot: new Int32Array(rows.length),
    visits: new Int32Array(rows.length).fill(1),
    dtype: DictColumn.of(rows.map(() => 'float32')),
    shape: DictColumn.of(rows.map(() => '4×8')),
    kept: new Uint8Array(rows.length),
    column: (name) => Float64Array.from(rows, (row) => row[name] ?? (name === 'size' ? 10 : 0)),
  };
}

/** Pseudo-random numbers below 1, the same ones for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** A layered graph of many nodes in nested scopes: towers of blocks, then a flat scope of updates fed by one constant. */
export function makeLargeGraph(count: number): GraphData {
  const random = randomNumbers(7);
  const nodes: NodeSpec[] = [];
  const edges: string[] = [];
  const path = (i: number): string => `tower_${i % 3}/block_${Math.floor(i / 60)}/part_${Math.floor(i / 12) % 5}/Op_${i}`;
  const main = Math.floor(count * 0.8);
  for (let i = 0; i < main; i++) {
    nodes.push({ path: path(i), op: ['MatMul', 'Add', 'Relu', 'Const'][i % 4]! });
    if (i >= 3) edges.push(`${i - 3} -> ${i}`);
    if (i > 30 && random() < 0.2) edges.push(`${Math.floor(i - 1 - random() * 29)} -> ${i}`);
  }
  nodes.push({ path: 'optimizer/rate', op: 'Const' });
  for (let i = main + 1; i < count; i++) {
    nodes.push({ path: `optimizer/Update_${i}`, op: 'Mul' });
    edges.push(`${main} -> ${i}`, `${Math.floor(random() * main)} -> ${i}`);
    if (i % 5) edges.push(`${i - 1} -> ${i}`);
  }
  return withEdges(makeGraph(nodes), edges);
}

/** Edges by row numbers: `1 -> 2`. */
function withEdges(graph: GraphData, edges: readonly string[]): GraphData {
  const ends = edges.map((edge) => edge.split(' -> ').map(Number) as [number, number]).filter(([a, b]) => a !== b && b < graph.nodeCount);
  return {
    ...graph,
    edges: {
      source: Int32Array.from(ends, ([a]) => a),
      target: Int32Array.from(ends, ([, b]) => b),
      slot: new Int32Array(ends.length),
      input: new Int32Array(ends.length),
      control: new Uint8Array(ends.length),
    },
  };
}
