/** The whole graph in a corner, with a frame around the current view. */

import { INF } from '../model/graph/node_values';
import type { Camera, View } from './camera';
import { fitRect, toGraphX, toGraphY, toScreenX, toScreenY } from './camera';
import { boxStyle } from './draw/draw_boxes';
import type { Frame } from './frame';
import { Motion } from './motion';
import { Scene } from './scene';

export const MINIMAP: View = { width: 176, height: 120 };

/** The camera that shows all of a graph of this size in the minimap. */
export function minimapCamera(width: number, height: number): Camera {
  return fitRect({ x: 0, y: 0, width, height }, MINIMAP, 4, 4);
}

/** Paints the graph without the frame of the view, which changes more often. */
export function paintMinimap(frame: Frame, camera: Camera): void {
  const { context, theme, drawing, colouring } = frame;
  const scene = new Scene();
  scene.collect(drawing.placed, new Motion(), camera, MINIMAP);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, MINIMAP.width, MINIMAP.height);
  for (let depth = 0; depth < scene.depth; depth++) {
    const { scopes, boxes } = scene.level(depth);
    for (let i = 0; depth > 0 && i < scopes.count; i++) {
      context.fillStyle = theme.scopes[Math.min(depth + 1, theme.scopes.length - 1)]!;
      context.fillRect(scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!);
    }
    for (let i = 0; i < boxes.count; i++) {
      context.fillStyle = boxStyle(frame, boxes.entity[i]!).solid;
      context.fillRect(boxes.x[i]!, boxes.y[i]!, Math.max(1, boxes.width[i]!), Math.max(1, boxes.height[i]!));
    }
  }
  for (let depth = 0; depth < scene.depth; depth++) {
    const { boxes } = scene.level(depth);
    for (let i = 0; i < boxes.count; i++) {
      const entity = boxes.entity[i]!;
      if (colouring.health[entity]! < INF) continue;
      context.fillStyle = colouring.health[entity] === INF ? theme.inf.solid : theme.nan.solid;
      context.fillRect(boxes.x[i]! - 0.5, boxes.y[i]! - 0.5, Math.max(2.5, boxes.width[i]!), Math.max(2.5, boxes.height[i]!));
    }
  }
}

/** The part shown by the main view, as a rectangle in the minimap. */
export function viewFrame(minimap: Camera, camera: Camera, view: View): { x: number; y: number; width: number; height: number } {
  const left = toScreenX(minimap, MINIMAP, toGraphX(camera, view, 0));
  const top = toScreenY(minimap, MINIMAP, toGraphY(camera, view, 0));
  return { x: left, y: top, width: (view.width / camera.zoom) * minimap.zoom, height: (view.height / camera.zoom) * minimap.zoom };
}
