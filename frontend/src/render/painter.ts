/** Paints a scene: depth by depth scope bodies, edges, boxes; then the texts and markers on top of them, titles over what they may cover. */

import { drawBoxes } from './draw_boxes';
import { drawBridges } from './draw_bridges';
import { drawEdgeLabels } from './draw_edge_labels';
import { drawEdges } from './draw_edges';
import { drawBoxLabels } from './draw_labels';
import { drawMarkers } from './draw_markers';
import { drawBlocks, drawScopeBodies } from './draw_scopes';
import { TitlePlacer } from './draw_titles';
import type { Frame } from './frame';

export function paint(frame: Frame): void {
  const { context, scene, theme } = frame;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, scene.view.width, scene.view.height);
  for (let depth = 0; depth < scene.depth; depth++) {
    const { scopes, boxes } = scene.level(depth);
    drawScopeBodies(frame, scopes, depth);
    drawBlocks(frame, scopes);
    drawBridges(frame, scopes);
    drawEdges(frame, scopes);
    drawBoxes(frame, boxes);
  }
  for (let depth = 0; depth < scene.depth; depth++) {
    const { scopes, boxes } = scene.level(depth);
    drawEdgeLabels(frame, scopes, depth);
    drawBoxLabels(frame, boxes);
  }
  const titles = new TitlePlacer(frame);
  for (let depth = 0; depth < scene.depth; depth++) titles.draw(scene.level(depth).scopes, depth);
  for (let depth = 0; depth < scene.depth; depth++) drawMarkers(frame, scene.level(depth).boxes);
}
