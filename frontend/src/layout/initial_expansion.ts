/** Which scopes are expanded at first: as few as make a useful picture, the forward model before gradients and updates. */

import type { DictColumn } from '../lib/arrays/columns';
import { isAuxiliary } from '../model/graph/op_kinds';
import { entityLabel, type Paths, type ScopeTree } from '../model/graph/tree';
import { PART_SCOPES } from '../model/layers/parts';

/** Expand scopes until about this many boxes are visible, but none with more than `MOST_CHILDREN`. */
const ENOUGH = 24;
const MOST_SHOWN = 64;
const MOST_CHILDREN = 48;
/** More in the first scope would be a wall of boxes. */
const MOST_FLAT = 600;
const FEWEST_INSIDE = 5;
/** A group of blocks already says what is in it, so inside another scope it is expanded only up to this many boxes. */
const HARDLY_ANYTHING = 2;

/** Scopes that serve training more than they explain the model. */
const ASIDE =
  /^variables(\/|$)|grad|ada(m|grad|delta|factor)|sgd|rm_?sprop|^(lion|lamb|muon|ftrl)(_|\/|$)|optimi[sz]er|assign|update|save|restore|metric|init|iterator|dataset|clip|ema|summary|accuracy/i;

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
  const label = (scope: number): string => entityLabel(tree, paths, tree.nodeCount + scope);
  const ofOtherPart = (scope: number): boolean => PART_SCOPES.has(label(scope).split('/')[0]!);
  const aside = (scope: number): boolean => ASIDE.test(label(scope)) || ofOtherPart(scope);
  // One of the repeated blocks represents all of them.
  const worthwhile = (scope: number): number[] => {
    const inside = scopesIn(scope).filter((inner) => !aside(inner));
    return tree.blockGroups.has(scope) ? inside.slice(0, 1) : inside;
  };
  const candidates = worthwhile(0);
  // There are only gradients.
  if (candidates.length === 0) candidates.push(...scopesIn(0).filter((scope) => !ofOtherPart(scope)));
  const open: number[] = [];
  let shown = main(0);
  // The model itself is expanded, however large its siblings are.
  let inside = 0;
  while ((shown < ENOUGH || inside < FEWEST_INSIDE) && candidates.length) {
    candidates.sort((a, b) => rank(tree, a) - rank(tree, b) || weight(tree, b) - weight(tree, a) || a - b);
    const scope = candidates.shift()!;
    const children = main(scope);
    if (tree.blockGroups.has(scope) && tree.depth[scope]! > 1 && shown > HARDLY_ANYTHING) continue;
    // The flat nodes of a functional model are still the model.
    if (children > (inside > 0 ? MOST_CHILDREN : MOST_FLAT) || (shown - 1 + children > MOST_SHOWN && inside > 0)) continue;
    shown += children - 1;
    inside += children - 1;
    open.push(scope);
    candidates.push(...worthwhile(scope));
  }
  return open;
}

/** Groups of blocks are expanded only if nothing else remains. */
function rank(tree: ScopeTree, scope: number): number {
  return tree.blockGroups.has(scope) ? 1 : 0;
}

/** Large scopes first, outer ones before inner ones. */
function weight(tree: ScopeTree, scope: number): number {
  return tree.nodesIn[scope]! / tree.depth[scope]!;
}
