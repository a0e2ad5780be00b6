/** Names of what is drawn, and of what stands beside it. */

import { visible } from '../lib/visible_text';
import { SiblingNames } from '../model/graph/short_names';
import { entityLabel, type ScopeTree } from '../model/graph/tree';
import type { Drawing } from './frame';

export function visibleLabel({ tree, graph }: Pick<Drawing, 'tree' | 'graph'>, entity: number): string {
  return visible(entityLabel(tree, graph.paths, entity));
}

/** To compare the names of larger scopes takes longer than a frame may; most end in numbers, which are kept anyway. */
const MOST_SIBLINGS = 2000;

const known = new WeakMap<ScopeTree, Map<number, SiblingNames>>();

/** The names in the scope that holds an entity; they are read when one of them has to be shortened. */
export function siblingNames({ tree, graph }: Pick<Drawing, 'tree' | 'graph'>, entity: number): SiblingNames | undefined {
  const scope = tree.parent[entity]!;
  if (tree.childStart[scope + 1]! - tree.childStart[scope]! > MOST_SIBLINGS) return undefined;
  const scopes = known.get(tree) ?? new Map<number, SiblingNames>();
  known.set(tree, scopes);
  let names = scopes.get(scope);
  if (!names) {
    names = new SiblingNames(() => {
      const children = tree.children.subarray(tree.childStart[scope], tree.childStart[scope + 1]);
      return Array.from(children, (child) => visibleLabel({ tree, graph }, child));
    });
    scopes.set(scope, names);
  }
  return names;
}
