/** Visible, highlighted and bookmarked entities of a graph pane. */

import { sameTrace } from '../../../model/graph/trace';
import { enclosing } from '../../../render/camera';
import type { Highlights } from '../../../render/draw/draw_highlights';
import { entityNamed } from './entity_names';
import type { GraphView } from './graph_view';

/** Nodes as drawn: a collapsed scope with several of them occurs once. */
function shownOnce(model: GraphView, rows: Iterable<number>): number[] {
  const { drawing } = model;
  if (!drawing) return [];
  return [...new Set([...rows].map((row) => model.shown(drawing.tree.entityOf[row]!)))].filter((entity) => entity >= 0);
}

/** Entities that show the bookmarks: themselves, or the collapsed scopes that hide them. */
export function visibleBookmarks(model: GraphView): ReadonlySet<number> {
  const { drawing, bookmarks } = model;
  return new Set(drawing ? bookmarks.map((name) => model.shown(entityNamed(drawing, name))) : []);
}

// Highlighted entities of a graph pane.

export function highlightsOf(model: GraphView): Highlights {
  const { drawing } = model;
  const row = model.finder.currentRow;
  const hover = model.hover.value;
  return {
    selected: model.shown(model.selected),
    hovered: hover?.entity ?? -1,
    hoveredEdge: hover?.edge ?? -1,
    neighbours: model.neighbours,
    hits: model.finder.marks,
    currentHit: drawing && row >= 0 ? model.shown(drawing.tree.entityOf[row]!) : -1,
    ways: model.finder.ways.map((way) => shownOnce(model, way)),
    marks: model.marks,
    chain: model.marks ? shownOnce(model, model.chain) : [],
    traced: model.tracer.marks,
    path: shownOnce(model, model.tracer.path),
  };
}

export function areEmpty(highlights: Highlights): boolean {
  const points = Math.max(highlights.selected, highlights.hovered, highlights.hoveredEdge, highlights.currentHit);
  return points < 0 && !highlights.hits && !highlights.marks && !highlights.traced;
}

// A new trace, or one from an address, is shown as a whole once.

/** The list of its nodes, with its margins. */
const CARD = 270;

export function showTrace(model: GraphView): void {
  const { tracer, viewport } = model;
  const found = tracer.found.value;
  if (found && sameTrace(found.trace, tracer.brought)) return;
  tracer.brought = found?.trace ?? null;
  const all = found && enclosing(shownOnce(model, [...found.origin, ...found.rows]).flatMap((entity) => model.rect(entity) ?? []));
  if (all) viewport.bring(all, CARD);
}
