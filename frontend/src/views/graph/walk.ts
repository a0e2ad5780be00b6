/** Going about the graph by keys. */

import { type Direction, move } from '../../model/graph/moves';
import { clearSearch } from './go';
import type { GraphView } from './graph_view';
import { neighboursOf } from './shown_neighbours';

/** Follows an arrow key; without a selection starts at the first node on show. */
export function moveSelection(model: GraphView, direction: Direction): void {
  const { drawing } = model;
  if (!drawing) return;
  const from = model.shown(model.selected);
  const to = from < 0 ? (drawing.tree.children[0] ?? -1) : move(drawing.tree, drawing.placed, neighboursOf(drawing, from), from, direction);
  if (to < 0) return;
  model.pick(to);
  model.centre(to, false);
}

/** Selects the scope around the selection. */
export function selectOuter(model: GraphView): void {
  const { drawing, selected } = model;
  const scope = drawing && selected >= 0 ? drawing.tree.parent[selected]! : -1;
  if (!drawing || scope <= 0) return;
  model.pick(drawing.tree.nodeCount + scope);
  model.centre(model.selected, false);
}

/** Opens or closes the selected scope. */
export function toggleSelected(model: GraphView): void {
  const { drawing, selected } = model;
  if (drawing && selected >= drawing.tree.nodeCount) model.toggle(selected - drawing.tree.nodeCount);
}

/** Clears the search if there is one, else the trace, else the selection; false if there is none of them. */
export function clearOne(model: GraphView): boolean {
  if (model.finder.text.value !== '') clearSearch(model);
  else if (model.tracer.found.value || model.pathStart.value !== null) model.events.trace(null, '');
  else if (model.selected >= 0) model.pick(-1);
  else return false;
  return true;
}
