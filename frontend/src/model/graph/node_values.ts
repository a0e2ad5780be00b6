/** A step's statistics carried over to the entities of the scope tree: a scope takes the worst, or most telling, of what it holds. */

import type { StatisticName } from '../wire/graph';
import { type StepStatistics, statisticOf } from '../wire/steps';
import type { ScopeTree } from './tree';

export const NOT_CAPTURED = 0;
/** Captured, but the source of an import does not tell whether there is a NaN or an infinity. */
export const NOT_COUNTED = 1;
export const FINE = 2;
export const INF = 3;
export const NAN = 4;

/** Health of every entity; a node with several outputs or visits takes the worst. */
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

/** A statistic of every entity, NaN where nothing was captured. */
export function valuesByEntity(tree: ScopeTree, step: StepStatistics | null, name: StatisticName): Float64Array {
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
const STRONGER: Partial<Record<StatisticName, (a: number, b: number) => number>> = {
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

/** Calls with each entity and the entity of the scope around it, innermost scopes first. */
export function forEachUpwards(tree: ScopeTree, visit: (child: number, scope: number) => void): void {
  for (let scope = tree.scopeCount - 1; scope >= 0; scope--) {
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) visit(tree.children[i]!, tree.nodeCount + scope);
  }
}
