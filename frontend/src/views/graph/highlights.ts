/** What of a graph pane is highlighted now. */

import type { Highlights } from '../../render/draw_highlights';
import type { GraphView } from './graph_view';
import { shownOnce } from './where';

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
