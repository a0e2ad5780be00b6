/** Names of selected entities: a node's name, or a scope's path with a slash at its end. */

import { blockGroupPath, findScope, scopePath, shownEntity } from '../../../model/graph/tree';
import { rowOf } from '../../../model/wire/graph';
import type { Drawing } from '../../../render/frame';

/** A scope that is the body of a node has the node's name; null for none. */
export function selectedName({ tree, graph }: Drawing, entity: number): string | null {
  if (entity < 0) return null;
  const scope = entity - tree.nodeCount;
  const row = scope < 0 ? entity : tree.owner[scope]!;
  return row >= 0 ? graph.names.at(row) : `${scopePath(tree, graph.paths, scope)}/`;
}

/** The entity with such a name; -1 if there is none. */
export function entityNamed({ tree, graph }: Drawing, name: string | null): number {
  if (name === null) return -1;
  const row = rowOf(graph, name);
  if (row >= 0) return tree.entityOf[row]!;
  const path = name.endsWith('/') ? name.slice(0, -1) : '';
  const scope = findScope(tree, graph.paths, path);
  return scope > 0 && scopePath(tree, graph.paths, scope) === path ? tree.nodeCount + scope : -1;
}

/**
 * Finds an entity in a later version of the graph; -1 if it was removed. A group of blocks is found by its first block, which it hides.
 */
export function sameEntity({ tree, graph }: Drawing, entity: number): (now: Drawing) => number {
  const scope = entity - tree.nodeCount;
  const name = scope < 0 ? graph.names.at(entity) : scopePath(tree, graph.paths, scope);
  const group = tree.blockGroups.get(scope);
  const end = group ? name.length - blockGroupPath('', group.last).length : name.length;
  const first = name.slice(0, end);
  return (now) => {
    const row = scope < 0 ? rowOf(now.graph, name) : -1;
    if (row >= 0) return now.tree.entityOf[row]!;
    const found = findScope(now.tree, now.graph.paths, first);
    return found > 0 ? shownEntity(now.tree, now.placed.open, now.tree.nodeCount + found) : -1;
  };
}
