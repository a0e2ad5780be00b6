/** A trace comes into view as a whole, once, when it is made or an address names it. */

import { sameTrace } from '../../model/graph/trace';
import type { Rect } from '../../render/camera';
import type { GraphView } from './graph_view';
import { shownOnce } from './where';

/** The list of its nodes, with its margins. */
const CARD = 270;

export function showTrace(model: GraphView): void {
  const { tracer, viewport } = model;
  const found = tracer.found.value;
  if (found && sameTrace(found.trace, tracer.brought)) return;
  tracer.brought = found?.trace ?? null;
  const all = found && around(shownOnce(model, [...found.origin, ...found.rows]).flatMap((entity) => model.rect(entity) ?? []));
  if (all) viewport.bring(all, CARD);
}

function around(rects: readonly Rect[]): Rect | null {
  if (rects.length === 0) return null;
  let [left, top, right, bottom] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, y, width, height } of rects) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}
