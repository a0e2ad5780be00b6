/** Statistics of a step for the entities of the scope tree: a scope gets the worst, or most significant, of its content. */

import { itemsize } from '../value/elements';
import type { GraphData } from '../wire/graph';
import { type StepStatistics, statisticOf } from '../wire/step_statistics';
import type { NodeStatistic } from '../wire/value_scale';
import type { ScopeTree } from './tree';

export const NOT_CAPTURED = 0;
/** Captured, but the import does not report whether there is a NaN or an infinity. */
export const NOT_COUNTED = 1;
export const FINE = 2;
export const INF = 3;
export const NAN = 4;

/** Health of every entity; a node with several outputs or iterations gets the worst. */
export function healthByEntity(tree: ScopeTree, step: StepStatistics | null): Uint8Array {
  const health = new Uint8Array(tree.nodeCount + tree.scopeCount);
  if (!step) return health;
  const [nan, positive, negative] = [step.column('nan'), step.column('pos_inf'), step.column('neg_inf')];
  for (let row = 0; row < step.node.length; row++) {
    const node = step.node[row]!;
    if (node < 0 || node >= tree.nodeCount) continue;
    const entity = tree.entityOf[node]!;
    const state = healthOfCounts(nan[row]!, positive[row]! + negative[row]!);
    if (state > health[entity]!) health[entity] = state;
  }
  forEachUpwards(tree, (child, scope) => {
    if (health[child]! > health[scope]!) health[scope] = health[child]!;
  });
  return health;
}

export function healthOfCounts(nan: number, inf: number): number {
  if (nan > 0) return NAN;
  if (inf > 0) return INF;
  return Number.isNaN(nan + inf) ? NOT_COUNTED : FINE;
}

/** A statistic of every entity, NaN if nothing was captured. */
export function valuesByEntity(tree: ScopeTree, step: StepStatistics | null, name: NodeStatistic): Float64Array {
  const values = new Float64Array(tree.nodeCount + tree.scopeCount).fill(Number.NaN);
  if (!step) return values;
  const stronger = STRONGER[name] ?? larger;
  for (let row = 0; row < step.node.length; row++) {
    const node = step.node[row]!;
    if (node < 0 || node >= tree.nodeCount) continue;
    const entity = tree.entityOf[node]!;
    const value = statisticOf(step, row, name);
    if (!Number.isNaN(value)) values[entity] = stronger(values[entity]!, value);
  }
  forEachUpwards(tree, (child, scope) => {
    const value = values[child]!;
    if (!Number.isNaN(value)) values[scope] = stronger(values[scope]!, value);
  });
  return values;
}

const larger = (a: number, b: number): number => (a >= b ? a : b);
const STRONGER: Partial<Record<NodeStatistic, (a: number, b: number) => number>> = {
  min: (a, b) => (a <= b ? a : b),
  mean: (a, b) => (Math.abs(a) >= Math.abs(b) ? a : b),
};

/** Rows of a step by node, for tooltips: `rows[start[node] … start[node + 1]]`. */
export function rowsByNode(nodeCount: number, step: StepStatistics): { start: Int32Array; rows: Int32Array } {
  const start = new Int32Array(nodeCount + 1);
  for (const node of step.node) if (node >= 0 && node < nodeCount) start[node + 1]!++;
  for (let node = 0; node < nodeCount; node++) start[node + 1]! += start[node]!;
  const fill = start.slice();
  const rows = new Int32Array(start[nodeCount]!);
  step.node.forEach((node, row) => {
    if (node >= 0 && node < nodeCount) rows[fill[node]!++] = row;
  });
  return { start, rows };
}

/** Calls back with each entity and its scope, innermost scopes first. */
export function forEachUpwards(tree: ScopeTree, visit: (child: number, scope: number) => void): void {
  for (let scope = tree.scopeCount - 1; scope >= 0; scope--) {
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) visit(tree.children[i]!, tree.nodeCount + scope);
  }
}

// Bytes of the outputs of nodes, as far as known: from the captured tensors of the step, else from the graph's shapes.

/** Bytes of every entity's outputs, NaN if unknown. A scope gets those of its largest node. */
export function bytesByEntity(tree: ScopeTree, graph: GraphData, step: StepStatistics | null): Float64Array {
  const bytes = new Float64Array(tree.nodeCount + tree.scopeCount).fill(Number.NaN);
  const captured = capturedBytes(tree.nodeCount, graph, step);
  for (let row = 0; row < tree.nodeCount; row++) {
    const known = Number.isNaN(captured[row]!) ? declaredBytes(graph, row) : captured[row]!;
    if (!Number.isNaN(known)) bytes[tree.entityOf[row]!] = known;
  }
  forEachUpwards(tree, (child, scope) => {
    if (!(bytes[child]! <= bytes[scope]!) && !Number.isNaN(bytes[child]!)) bytes[scope] = bytes[child]!;
  });
  return bytes;
}

/** The same of one node; `rows`: its rows in the step. */
export function bytesOfNode(graph: GraphData, step: StepStatistics | null, rows: Iterable<number>, node: number): number {
  let [bytes, outputs] = [0, 0];
  for (const row of step ? rows : []) {
    bytes += bytesOfRow(step!, step!.column('size'), row);
    outputs++;
  }
  return outputs > 0 && outputs >= graph.slots[node]! ? bytes : declaredBytes(graph, node);
}

/** Of nodes with all outputs captured; of nodes with several iterations, the bytes of one. */
function capturedBytes(nodeCount: number, graph: GraphData, step: StepStatistics | null): Float64Array {
  const bytes = new Float64Array(nodeCount);
  const outputs = new Int32Array(nodeCount);
  const sizes = step?.column('size');
  for (let row = 0; step && sizes && row < step.count; row++) {
    const node = step.node[row]!;
    if (node < 0 || node >= nodeCount) continue;
    bytes[node]! += bytesOfRow(step, sizes, row);
    outputs[node]!++;
  }
  return bytes.map((sum, node) => (outputs[node]! > 0 && outputs[node]! >= graph.slots[node]! ? sum : Number.NaN));
}

function bytesOfRow(step: StepStatistics, sizes: Float64Array, row: number): number {
  return (sizes[row]! / Math.max(1, step.visits[row]!)) * itemsize(step.dtype.at(row));
}

/** Of a node with one output whose shape is static. */
function declaredBytes(graph: GraphData, row: number): number {
  if (graph.slots[row] !== 1) return Number.NaN;
  return elementsOf(graph.shapes.at(row)) * itemsize(graph.dtypes.at(row));
}

/** Of a shape in the graph's notation: `32×10`, `scalar`; NaN if a dimension is unknown. */
export function elementsOf(shape: string): number {
  if (shape === 'scalar') return 1;
  const lengths = shape.split('×').map((length) => (/^\d+$/.test(length) ? Number(length) : Number.NaN));
  return lengths.reduce((product, length) => product * length, 1);
}
