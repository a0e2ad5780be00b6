/** Facts of a whole scope of the graph of ops: its nodes, its inputs and outputs, and its weights. */

import { type GraphData, rowOf } from '../wire/graph';
import type { StepStatistics } from '../wire/step_statistics';
import type { CardWeight } from './card_weights';
import type { LayerGraph, TensorPlace } from './cards';

export interface ScopeFacts {
  /** 1 for the rows inside. */
  readonly inside: Uint8Array;
  readonly count: number;
  /** Number of nodes per op type, most first. */
  readonly ops: readonly (readonly [string, number])[];
  /** Tensors from outside that are read inside, and the reverse, in node order. */
  readonly inputs: readonly TensorPlace[];
  readonly outputs: readonly TensorPlace[];
}

/** Scopes are the folders of `paths`; a node may have the name of its scope. */
export function scopeFacts(graph: GraphData, path: string): ScopeFacts {
  const inside = new Uint8Array(graph.nodeCount);
  const ops = new Map<string, number>();
  let count = 0;
  for (let row = 0; row < graph.nodeCount; row++) {
    const own = graph.paths.at(row);
    if (own !== path && !own.startsWith(`${path}/`)) continue;
    inside[row] = 1;
    count++;
    const op = graph.opTypes.at(row);
    ops.set(op, (ops.get(op) ?? 0) + 1);
  }
  const { source, slot, target, control } = graph.edges;
  const [inputs, outputs] = [new Map<string, TensorPlace>(), new Map<string, TensorPlace>()];
  for (let edge = 0; edge < source.length; edge++) {
    const [from, to] = [source[edge]!, target[edge]!];
    if (control[edge] || inside[from] === inside[to] || !isData(graph, from)) continue;
    const place = { row: from, slot: slot[edge]! };
    (inside[to] ? inputs : outputs).set(`${from}:${place.slot}`, place);
  }
  const inOrder = (found: Map<string, TensorPlace>) => [...found.values()].sort((a, b) => a.row - b.row || a.slot - b.slot);
  return {
    inside,
    count,
    ops: [...ops].sort((a, b) => b[1] - a[1]),
    inputs: inOrder(inputs),
    outputs: inOrder(outputs),
  };
}

/** Constants and variables are not flowing data. */
const isData = (graph: GraphData, row: number): boolean =>
  !['Const', 'VarHandleOp', 'ReadVariableOp'].includes(graph.opTypes.at(row)) && graph.dtypes.at(row) !== 'resource';

/** Weights that are read inside, and those whose gradients or updates are computed inside. */
export function weightsInside({ cards }: LayerGraph, inside: Uint8Array): CardWeight[] {
  const found = new Map<string, CardWeight>();
  for (const weight of cards.flatMap((card) => card.weights))
    if ([weight.row, ...weight.gradients, ...weight.updates].some((row) => inside[row])) found.set(weight.variable, weight);
  return [...found.values()];
}

export interface WorstTensor extends TensorPlace {
  readonly nan: number;
  readonly inf: number;
  readonly absMax: number;
}

/** Shapes, indices and random bits: their magnitude is meaningless. */
const WHOLE = /^(?:u?int|bool)/;

/** The captured tensor with most NaN, else most infinities, else the largest magnitude; null if none was captured. */
export function worstTensor(inside: Uint8Array, step: StepStatistics | null): WorstTensor | null {
  if (step === null) return null;
  const [nans, positive, negative, largest] = [step.column('nan'), step.column('pos_inf'), step.column('neg_inf'), step.column('abs_max')];
  let worst: WorstTensor | null = null;
  for (let i = 0; i < step.count; i++) {
    if (!inside[step.node[i]!]) continue;
    const one = {
      row: step.node[i]!,
      slot: step.slot[i]!,
      nan: nans[i]! || 0,
      inf: (positive[i]! || 0) + (negative[i]! || 0),
      absMax: Number.isNaN(largest[i]!) || WHOLE.test(step.dtype.at(i)) ? -1 : largest[i]!,
    };
    if (worst === null || isWorse(one, worst)) worst = one;
  }
  return worst;
}

function isWorse(a: WorstTensor, b: WorstTensor): boolean {
  return a.nan !== b.nan ? a.nan > b.nan : a.inf !== b.inf ? a.inf > b.inf : a.absMax > b.absMax;
}

/** The node whose source line represents its scope: the first that computes. */
export function tellingRow(graph: GraphData, { inside }: ScopeFacts, path: string): number {
  const own = rowOf(graph, path);
  if (own >= 0 && inside[own]) return own; // a scope of a part may have the name of a node elsewhere
  const idle = new Set(['Const', 'Identity', 'NoOp', 'ReadVariableOp', 'Placeholder', '_Arg']);
  const first = inside.findIndex((is, row) => is === 1 && !idle.has(graph.opTypes.at(row)));
  return first >= 0 ? first : inside.indexOf(1);
}
