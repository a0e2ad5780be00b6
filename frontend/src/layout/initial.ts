/** Which scopes to open at first: as few as make the picture tell something, the forward model before its gradients and updates. */

import type { DictColumn } from '../lib/columns';
import { isAuxiliary } from '../model/op_kinds';
import { entityLabel, type Paths, type ScopeTree } from '../model/tree';

/** Open scopes until about this many boxes show, and never one that brings more than `MOST_CHILDREN`. */
const ENOUGH = 24;
const MOST_SHOWN = 64;
const MOST_CHILDREN = 48;
const FEWEST_INSIDE = 5;

/** Scopes that serve training more than they explain the model. */
const ASIDE =
  /^variables$|grad|adam|sgd|rmsprop|adagrad|optimi[sz]er|assign|update|save|restore|metric|init|iterator|dataset|clip|ema|summary|accuracy/i;

export function chooseOpen(tree: ScopeTree, paths: Paths, opTypes: DictColumn): number[] {
  const auxiliary = opTypes.values.map(isAuxiliary);
  const main = (scope: number): number => {
    let count = 0;
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
      const child = tree.children[i]!;
      if (child >= tree.nodeCount || !auxiliary[opTypes.codes[child]!]) count++;
    }
    return count;
  };
  const scopesIn = (scope: number): number[] => {
    const scopes: number[] = [];
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
      if (tree.children[i]! >= tree.nodeCount) scopes.push(tree.children[i]! - tree.nodeCount);
    }
    return scopes;
  };
  const aside = (scope: number): boolean => ASIDE.test(entityLabel(tree, paths, tree.nodeCount + scope));
  const candidates = scopesIn(0).filter((scope) => !aside(scope));
  const open: number[] = [];
  let shown = main(0);
  // However much lies beside it: the model itself is opened.
  let inside = 0;
  while ((shown < ENOUGH || inside < FEWEST_INSIDE) && candidates.length) {
    candidates.sort((a, b) => weight(tree, b) - weight(tree, a) || a - b);
    const scope = candidates.shift()!;
    const children = main(scope);
    if (children > MOST_CHILDREN || (shown - 1 + children > MOST_SHOWN && inside > 0)) continue;
    shown += children - 1;
    inside += children - 1;
    open.push(scope);
    for (const inner of scopesIn(scope)) if (!aside(inner)) candidates.push(inner);
  }
  return open;
}

/** Large scopes tell most, and outer ones before what is in them. */
function weight(tree: ScopeTree, scope: number): number {
  return tree.nodesIn[scope]! / tree.depth[scope]!;
}
