/** Paints a scene by depth: scope bodies, edges, boxes; then texts and markers, and titles on top. */

import { drawBoxes } from './draw/draw_boxes';
import { drawBridges } from './draw/draw_bridges';
import { drawEdgeLabels, drawEdges } from './draw/draw_edges';
import { drawBoxLabels } from './draw/draw_labels';
import { drawBookmarks, drawMarkers } from './draw/draw_markers';
import { drawBlocks, drawScopeBodies } from './draw/draw_scopes';
import { TitlePlacer } from './draw/draw_titles';
import { drawTrends } from './draw/draw_trends';
import type { Frame } from './frame';

export function paint(frame: Frame): void {
  for (const piece of paintingOf(frame, Number.POSITIVE_INFINITY)) piece();
}

/** The same in slices of a limited number of boxes: a whole graph would block the page. */
export function paintingOf(frame: Frame, most: number): (() => void)[] {
  const { context, scene, theme } = frame;
  const levels = scene.levels
    .slice(0, scene.depth)
    .map(({ scopes, boxes }, depth) => ({ scopes: scopes.inParts(most), boxes: boxes.inParts(most), depth }));
  const titles = new TitlePlacer(frame);
  const ground = () => {
    context.fillStyle = theme.background;
    context.fillRect(0, 0, scene.view.width, scene.view.height);
  };
  return [
    ground,
    ...levels.flatMap(({ scopes, boxes, depth }) => [
      ...scopes.map((part) => () => drawScopeBodies(frame, part, depth)),
      ...scopes.map((part) => () => drawBlocks(frame, part)),
      ...scopes.map((part) => () => drawBridges(frame, part)),
      ...scopes.map((part) => () => drawEdges(frame, part)),
      ...boxes.map((part) => () => drawBoxes(frame, part)),
    ]),
    ...levels.flatMap(({ scopes, boxes, depth }) => [
      ...scopes.map((part) => () => drawEdgeLabels(frame, part, depth)),
      ...boxes.map((part) => () => drawTrends(frame, part)),
      ...boxes.map((part) => () => drawBoxLabels(frame, part)),
    ]),
    ...levels.flatMap(({ scopes, depth }) => scopes.map((part) => () => titles.draw(part, depth))),
    ...levels.flatMap(({ boxes }) => boxes.map((part) => () => drawMarkers(frame, part))),
    ...levels.flatMap(({ scopes, boxes }) => [...scopes, ...boxes].map((part) => () => drawBookmarks(frame, part))),
    () => titles.drawFollowing(),
  ];
}
