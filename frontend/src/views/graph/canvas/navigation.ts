/** Going to nodes of the graph: hits of a search, nodes of a trace, nodes with NaN or Inf. */

import { batch, effect, signal } from '@preact/signals';
import { nextBadNode } from '../../../model/graph/bad_nodes';
import { drawnScope } from '../../../model/layers/parts';
import { rowOf } from '../../../model/wire/graph';
import { graph } from '../../../state/graph/graph';
import { choosePart, part } from '../../../state/graph/parts';
import { view } from '../../../state/page/choices';
import { maximisePanel } from '../../../state/page/ui';
import { chainRows, showChain } from '../../../state/problems/findings';
import { runFacts } from '../../../state/problems/problems';
import { graphId } from '../../../state/runs';
import { selectScope } from '../../../state/selection';
import { entityNamed } from './entity_names';
import type { GraphView } from './graph_view';

/** Goes to the path of the first NaN: expands all its scopes, and shows it as a whole. */
export function showNanPath(): void {
  showChain();
  const wanted = graphId.peek();
  let shown = false;
  const stop = effect(() => {
    const [model, rows] = [currentGraphView.value, chainRows.value];
    void model?.layouts.value;
    if (shown || rows.length === 0 || model?.status.value.kind !== 'ready' || model.drawing?.graph.id !== wanted) return;
    shown = true;
    queueMicrotask(() => {
      stop();
      model.revealAll(rows);
    });
  });
  // If the user goes elsewhere meanwhile, the view is not moved back.
  setTimeout(() => stop(), GIVEN_UP_MS);
}

/** Layout takes less than this, or the user has moved on. */
const GIVEN_UP_MS = 20_000;

/** Searches the run's graph from elsewhere on the page, and goes to the first hit. */
export function searchFor(text: string): void {
  withGraph((model) => void model.search(text).then((found) => found && nextHit(model, 1)));
}

/** Shows and selects a scope on the graph, from any view. */
export function goToScope(path: string): void {
  // View and selection change together: "back" leads to the view before both.
  batch(() => {
    selectScope(path);
    withGraph((model) => {
      if (revealScope(model, path) || part.value === 'all') return;
      // It is in another part of the step.
      choosePart('all');
      const stop = effect(() => {
        model.layouts.value;
        if (revealScope(model, path)) queueMicrotask(() => stop());
      });
    });
  });
}

function revealScope(model: GraphView, path: string): boolean {
  const { drawing } = model;
  const entity = drawing ? entityNamed(drawing, `${drawnScope(graph.data.peek(), drawing.graph, path)}/`) : -1;
  if (entity >= 0) model.reveal(entity, true);
  return entity >= 0;
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

/** Goes to the next node with NaN or Inf at the current step (origins first, then data flow order), cyclic; false if there is none. */
export function nextBad(model: GraphView, direction: 1 | -1): boolean {
  const { drawing, selected } = model;
  if (!drawing) return false;
  const { tree, graph } = drawing;
  const { nan, inf } = model.facts();
  const bad = Array.from(graph.opTypes.codes.keys()).filter((row) => nan(row) || inf(row));
  const from = selected < tree.nodeCount ? selected : tree.owner[selected - tree.nodeCount]!;
  const originRows = runFacts.value.graph?.names === graph.names ? runFacts.value.origins.map((node) => rowOf(graph, node)) : [];
  const next = nextBadNode(graph, bad, originRows, from, direction);
  if (next === undefined) model.announcement.value = 'No NaN/Inf at this step';
  return goTo(model, next ?? -1);
}

export const tracedAt = (model: GraphView, index: number): boolean => goTo(model, model.tracer.choose(index));

function goTo(model: GraphView, row: number): boolean {
  if (row >= 0) model.reveal(model.drawing!.tree.entityOf[row]!, true);
  return row >= 0;
}

/** By key or button: a visible selection stays in place. */
export function zoomBy(model: GraphView, factor: number): void {
  const shown = model.shown(model.selected);
  model.viewport.zoomSmoothly(factor, shown < 0 ? null : model.rect(shown));
}

/** The run's graph while a view shows it, for actions elsewhere on the page. */
export const currentGraphView = signal<GraphView | null>(null);

let forget = (): void => undefined;

/** Runs an action on the graph, now or when it is laid out; a view without it is replaced. Pending actions are dropped. */
export function withGraph(act: (model: GraphView) => void): void {
  forget();
  if (view.value !== 'stepper') view.value = 'graph';
  maximisePanel(false);
  let done = false;
  const stop = effect(() => {
    const model = currentGraphView.value;
    if (done || model?.status.value.kind !== 'ready') return;
    done = true;
    queueMicrotask(() => {
      forget();
      act(model);
    });
  });
  forget = stop;
}
