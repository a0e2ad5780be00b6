/** The scopes of a graph by their paths, for what lists them without a drawing. */

import { TextColumn } from '../../lib/columns';
import { callerRows, type GraphData } from '../wire/graph';
import { buildTree } from './build_tree';
import { scopePath } from './tree';

export interface ScopeList {
  /** As the graph's drawing has them, blocks of stacks each by itself. */
  readonly paths: TextColumn;
  /** How many nodes lie in each. */
  readonly nodes: Int32Array;
}

const known = new WeakMap<GraphData, ScopeList>();

/** Made once for a graph, when it is first asked for. */
export function scopeList(graph: GraphData): ScopeList {
  let list = known.get(graph);
  if (!list) {
    const tree = buildTree({ paths: graph.paths, opTypes: graph.opTypes, callers: new Set(callerRows(graph)) });
    const paths = Array.from({ length: tree.scopeCount - 1 }, (_, i) => scopePath(tree, graph.paths, i + 1));
    list = { paths: TextColumn.of(paths), nodes: tree.nodesIn.slice(1) };
    known.set(graph, list);
  }
  return list;
}
