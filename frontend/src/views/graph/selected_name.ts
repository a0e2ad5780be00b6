/** What the page calls what is selected on the graph: a node's name, or a scope's path with a slash at its end. */

import { findScope, scopePath } from '../../model/graph/tree';
import { rowOf } from '../../model/wire/graph';
import type { Drawing } from '../../render/frame';

/** A scope that is the body of a node has the node's name; null for nothing. */
export function selectedName({ tree, graph }: Drawing, entity: number): string | null {
  if (entity < 0) return null;
  const scope = entity - tree.nodeCount;
  const row = scope < 0 ? entity : tree.owner[scope]!;
  return row >= 0 ? graph.names.at(row) : `${scopePath(tree, graph.paths, scope)}/`;
}

/** The entity of such a name; -1 where the graph has none. */
export function entityNamed({ tree, graph }: Drawing, name: string | null): number {
  if (name === null) return -1;
  const row = rowOf(graph, name);
  if (row >= 0) return tree.entityOf[row]!;
  const path = name.endsWith('/') ? name.slice(0, -1) : '';
  const scope = findScope(tree, graph.paths, path);
  return scope > 0 && scopePath(tree, graph.paths, scope) === path ? tree.nodeCount + scope : -1;
}
