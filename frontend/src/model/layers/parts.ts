/** One part of a step on the graph of ops: its nodes as they are, and each other part as one collapsed scope. */

import { TextColumn } from '../../lib/arrays/columns';
import type { GraphData } from '../wire/graph';
import type { LayerGraph } from './cards';
import { BOOKKEEPING_SCOPE, OUTSIDE_SCOPE, pathsOfPart } from './part_paths';
import { BACKWARD, BOOKKEEPING, FORWARD, INPUT, LOSS, METRICS, OPTIMIZER } from './roles';

/** Parts by their names in the address, in the order of a step. */
export const PART_TITLES = {
  forward: 'Forward',
  loss: 'Loss',
  backward: 'Backward',
  optimizer: 'Optimizer',
  metrics: 'Metrics and input',
  all: 'All',
} as const;
export type Part = keyof typeof PART_TITLES;
export const PARTS = Object.keys(PART_TITLES) as Part[];

/** Titles of the scopes of other parts, by role. */
const ROLE_TITLES: readonly string[] = [
  '',
  'Input',
  'Forward pass',
  'Loss',
  'Backward pass',
  'Optimizer update',
  'Metrics',
  BOOKKEEPING_SCOPE,
];
/** Their names explain them, so none is expanded automatically. */
export const PART_SCOPES: ReadonlySet<string> = new Set([...ROLE_TITLES.slice(1), OUTSIDE_SCOPE]);

const SHOWN: Readonly<Record<Exclude<Part, 'all'>, readonly number[]>> = {
  forward: [FORWARD],
  loss: [LOSS],
  backward: [BACKWARD],
  optimizer: [OPTIMIZER],
  metrics: [INPUT, METRICS],
};

/** Parts whose tensors are drawn with a part: its inputs. Edges of other parts would cover the picture. */
const READS: Readonly<Record<Exclude<Part, 'all'>, readonly number[]>> = {
  forward: [INPUT],
  loss: [INPUT, FORWARD],
  backward: [LOSS],
  optimizer: [BACKWARD],
  metrics: [FORWARD, LOSS],
};

const HANDLES = new Set(['_Arg', 'VarHandleOp', 'Placeholder']);

/** Roles by which a graph is drawn: handles of variables, with edges everywhere, count as bookkeeping. */
function drawnRoles(graph: GraphData, roles: Uint8Array): Uint8Array {
  const handle = graph.opTypes.values.map((op) => HANDLES.has(op));
  const resource = graph.dtypes.values.map((dtype) => dtype === 'resource');
  return roles.map((role, row) => (handle[graph.opTypes.codes[row]!] && resource[graph.dtypes.codes[row]!] ? BOOKKEEPING : role));
}

/** The parts with nodes in a graph; a graph with one part is shown whole. */
export function partsOf(graph: GraphData, roles: Uint8Array): Part[] {
  const found = new Set(drawnRoles(graph, roles));
  const parts = PARTS.filter((part) => part !== 'all' && SHOWN[part].some((role) => found.has(role)));
  return parts.includes('forward') && found.size > 1 ? [...parts, 'all'] : ['all'];
}

/** The graph for drawing one part: the same rows, other paths, fewer edges. */
export function graphOfPart(graph: GraphData, layers: LayerGraph, roles: Uint8Array, part: Part): GraphData {
  if (part === 'all') return graph;
  const drawn = drawnRoles(graph, roles);
  const [shown, read] = [new Set(SHOWN[part]), new Set(READS[part])];
  const mask = drawn.map((role) => (shown.has(role) ? 1 : 0));
  const own = part === 'loss' || part === 'metrics' ? [] : pathsOfPart(graph, layers, mask, part);
  const paths = Array.from({ length: graph.nodeCount }, (_, row) => {
    const path = graph.paths.at(row);
    return mask[row] ? (own[row] ?? path) : `${ROLE_TITLES[drawn[row]!]}/${path}`;
  });
  const { source, target } = graph.edges;
  const kept: number[] = [];
  for (let edge = 0; edge < source.length; edge++) {
    const [from, to] = [drawn[source[edge]!]!, drawn[target[edge]!]!];
    const within = from === to || (shown.has(from) && shown.has(to));
    if (within || (shown.has(to) && read.has(from) && !graph.edges.control[edge])) kept.push(edge);
  }
  const pick = (numbers: Int32Array): Int32Array => Int32Array.from(kept, (edge) => numbers[edge]!);
  return {
    ...graph,
    id: `${graph.id} ${part}`,
    paths: TextColumn.of(paths),
    edges: {
      source: pick(source),
      target: pick(target),
      slot: pick(graph.edges.slot),
      input: pick(graph.edges.input),
      control: Uint8Array.from(kept, (edge) => graph.edges.control[edge]!),
    },
  };
}

/** The scope in a drawn part that has the nodes of a scope of the graph; without any, the path itself. */
export function drawnScope(graph: GraphData | null, drawn: GraphData, path: string): string {
  if (graph === null || graph === drawn) return path;
  for (let row = 0; row < graph.nodeCount; row++) {
    const [before, after] = [graph.paths.at(row), drawn.paths.at(row)];
    if (!before.startsWith(`${path}/`) || PART_SCOPES.has(after.split('/')[0]!)) continue;
    const found = sameDepth(path, before, after);
    if (found !== null) return found;
  }
  return path;
}

/** The scope of the graph with the nodes of a scope of a drawn part; null without any, e.g. for the updates of one weight. */
export function graphScope(graph: GraphData | null, drawn: GraphData | null, path: string): string | null {
  if (graph === null || drawn === null || graph === drawn) return path;
  let found: string | null = null;
  for (let row = 0; row < graph.nodeCount && found === null; row++) {
    const [before, after] = [graph.paths.at(row), drawn.paths.at(row)];
    if (after.startsWith(`${path}/`)) found = sameDepth(path, after, before);
  }
  if (!found || drawnScope(graph, drawn, found) !== path) return null;
  for (let row = 0; row < graph.nodeCount; row++) {
    const after = drawn.paths.at(row);
    const elsewhere = !after.startsWith(`${path}/`) && !PART_SCOPES.has(after.split('/')[0]!);
    if (elsewhere && graph.paths.at(row).startsWith(`${found}/`)) return null;
  }
  return found;
}

/** The scope of `other`, a node's other path, that is as far above it as the scope `path` is above `own`: layers have other names there. */
function sameDepth(path: string, own: string, other: string): string | null {
  const [inside, names] = [own.slice(path.length + 1).split('/'), other.split('/')];
  if (inside.at(-1) !== names.at(-1) || names.length <= inside.length) return null;
  return names.slice(0, -inside.length).join('/');
}
