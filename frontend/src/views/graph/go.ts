/** Search and traces on the graph: what is found, and going from one to the next. */

import { nextBadNode } from '../../model/graph/bad_nodes';
import { INF, NAN } from '../../model/graph/node_values';
import { NO_FACTS, type SearchFacts } from '../../model/search/search_facts';
import { rowOf } from '../../model/wire/graph';
import { runFacts } from '../../state/search_facts';
import type { GraphView } from './graph_view';
import { withGraph } from './on_show';
import { entityNamed } from './selected_name';

/** False where there is nothing to search yet, or another search came before this one's end. The current hit stays where it is to be `kept`. */
export async function search(model: GraphView, text: string, kept = false): Promise<boolean> {
  const { drawing } = model;
  const found = drawing !== null && (await model.finder.search(text, drawing.graph, drawing.tree, factsOf(model), kept));
  if (found) model.viewport.changed();
  return found;
}

/** Searches for the same again, where it may be that what is `about` has changed; the current hit stays if it still is one. */
export function searchAgain(model: GraphView, about: RegExp): void {
  const { asked } = model.finder;
  if (about.test(asked)) void search(model, asked, true);
}

/** What is known of the nodes that a pane shows; of another run's graph only their health. */
export function factsOf(model: GraphView): SearchFacts {
  const { drawing } = model;
  const health = model.colouring.value?.health;
  if (!drawing || !health) return NO_FACTS;
  const state = (row: number): number => health[drawing.tree.entityOf[row]!]!;
  const { graph, problems, lines } = runFacts.value;
  const known = graph === drawing.graph ? { problems, lines } : NO_FACTS;
  return { ...NO_FACTS, ...known, nan: (row) => state(row) === NAN, inf: (row) => state(row) === INF };
}

/** Searches the graph of the run from elsewhere on the page, and goes to the first hit. */
export function searchFor(text: string): void {
  withGraph((model) => void search(model, text).then((found) => found && nextHit(model, 1)));
}

/** Shows and selects a scope on the graph, of whichever view. */
export function goToScope(path: string): void {
  withGraph((model) => {
    const entity = model.drawing ? entityNamed(model.drawing, `${path}/`) : -1;
    if (entity >= 0) model.reveal(entity, true);
  });
}

export function clearSearch(model: GraphView): void {
  model.finder.clear();
  model.viewport.changed();
}

/** Goes to the next hit; false if there is none. */
export const nextHit = (model: GraphView, direction: 1 | -1): boolean => goTo(model, model.finder.step(direction));

/** Goes to a hit by its number. */
export const hitAt = (model: GraphView, index: number): boolean => goTo(model, model.finder.choose(index));

/** Goes to the next node of the trace; false if there is none. */
export const nextTraced = (model: GraphView, direction: 1 | -1): boolean => goTo(model, model.tracer.step(direction));

/** Goes to the next node with NaN or Inf at the step on show (births first, then as the data flows), around the ends; false if there is none. */
export function nextBad(model: GraphView, direction: 1 | -1): boolean {
  const { drawing, selected } = model;
  if (!drawing) return false;
  const { tree, graph } = drawing;
  const { nan, inf } = factsOf(model);
  const bad = Array.from(graph.opTypes.codes.keys()).filter((row) => nan(row) || inf(row));
  const from = selected < tree.nodeCount ? selected : tree.owner[selected - tree.nodeCount]!;
  const born = runFacts.value.graph === graph ? runFacts.value.births.map((node) => rowOf(graph, node)) : [];
  const next = nextBadNode(graph, bad, born, from, direction);
  if (next === undefined) model.announcement.value = 'No node has NaN or Inf at this step';
  return goTo(model, next ?? -1);
}

export const tracedAt = (model: GraphView, index: number): boolean => goTo(model, model.tracer.choose(index));

function goTo(model: GraphView, row: number): boolean {
  if (row >= 0) model.reveal(model.drawing!.tree.entityOf[row]!, true);
  return row >= 0;
}

/** By key or button: what is selected and in view stays there. */
export function zoomBy(model: GraphView, factor: number): void {
  const shown = model.shown(model.selected);
  model.viewport.zoomSmoothly(factor, shown < 0 ? null : model.rect(shown));
}
