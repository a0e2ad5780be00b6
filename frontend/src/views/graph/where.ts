/** Where things are on the screen. */

import { type Rect, toScreenX, toScreenY } from '../../render/camera';
import type { GraphView } from './graph_view';
import { entityNamed } from './selected_name';

/** Nodes as they are drawn now: what hides several of them is there once. */
export function shownOnce(model: GraphView, rows: Iterable<number>): number[] {
  const { drawing } = model;
  if (!drawing) return [];
  return [...new Set([...rows].map((row) => model.shown(drawing.tree.entityOf[row]!)))].filter((entity) => entity >= 0);
}

/** What stands for the bookmarks now: the things themselves, or the closed scopes that hide them. */
export function bookmarkedOnShow(model: GraphView): ReadonlySet<number> {
  const { drawing, bookmarks } = model;
  return new Set(drawing ? bookmarks.map((name) => model.shown(entityNamed(drawing, name))) : []);
}

/** Where an entity is in the pane, in pixels. */
export function onScreen(model: GraphView, entity: number): Rect | null {
  const rect = model.rect(entity);
  const { camera, view } = model.viewport;
  if (!rect) return null;
  const [width, height] = [rect.width * camera.zoom, rect.height * camera.zoom];
  return { x: toScreenX(camera, view, rect.x), y: toScreenY(camera, view, rect.y), width, height };
}
