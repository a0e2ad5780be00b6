/** How many bytes the outputs of nodes take, as far as that is known: from what was captured at the step, else from the graph's shapes. */

import { itemsize } from '../value/dtypes';
import type { GraphData } from '../wire/graph';
import type { StepStatistics } from '../wire/steps';
import { forEachUpwards } from './node_values';
import type { ScopeTree } from './tree';

/** Bytes of every entity's outputs, NaN where they are not known. A scope has those of its largest node. */
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

/** The same of one node; `rows`: those of the step that are its own. */
export function bytesOfNode(graph: GraphData, step: StepStatistics | null, rows: Iterable<number>, node: number): number {
  let [bytes, outputs] = [0, 0];
  for (const row of step ? rows : []) {
    bytes += bytesOfRow(step!, step!.column('size'), row);
    outputs++;
  }
  return outputs > 0 && outputs >= graph.slots[node]! ? bytes : declaredBytes(graph, node);
}

/** Of nodes all of whose outputs were captured; of those that ran several times what one visit took. */
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

/** Of a node with one output whose shape is known beforehand. */
function declaredBytes(graph: GraphData, row: number): number {
  if (graph.slots[row] !== 1) return Number.NaN;
  return elementsOf(graph.shapes.at(row)) * itemsize(graph.dtypes.at(row));
}

/** Of a shape as the graph writes it: `32×10`, `scalar`; NaN where a dimension is not known. */
export function elementsOf(shape: string): number {
  if (shape === 'scalar') return 1;
  const lengths = shape.split('×').map((length) => (/^\d+$/.test(length) ? Number(length) : Number.NaN));
  return lengths.reduce((product, length) => product * length, 1);
}
