/** What one looks at stays put while the graph is loaded again, and things may have other numbers. */

import { findScope, scopePath, stackPath } from '../../model/graph/tree';
import { rowOf } from '../../model/wire/graph';
import type { GraphView } from './graph_view';
import { onScreen } from './where';

/** Remembers the selection and where it is on the screen; the result finds it again and puts it there. */
export function holdPlace(model: GraphView): (() => void) | null {
  const { drawing } = model;
  const entity = model.shown(model.selected);
  const before = onScreen(model, entity);
  if (!drawing || entity < 0 || !before) return () => model.fit(false);
  const find = finder(model, model.selected);
  return () => {
    const again = find();
    if (again < 0) return;
    model.setSelected(again);
    const now = onScreen(model, model.shown(again));
    if (now) model.viewport.pan(before.x - now.x, before.y - now.y);
  };
}

/** A stack is found again by its first block: as long as it is one it hides that. */
function finder(model: GraphView, entity: number): () => number {
  const { tree, graph } = model.drawing!;
  const scope = entity - tree.nodeCount;
  const name = scope < 0 ? graph.names.at(entity) : scopePath(tree, graph.paths, scope);
  const stack = tree.stacks.get(scope);
  const end = stack ? name.length - stackPath('', stack.last).length : name.length;
  const first = name.slice(0, end);
  return () => {
    const now = model.drawing!;
    const row = scope < 0 ? rowOf(now.graph, name) : -1;
    if (row >= 0) return now.tree.entityOf[row]!;
    const found = findScope(now.tree, now.graph.paths, first);
    return found > 0 ? model.shown(now.tree.nodeCount + found) : -1;
  };
}
