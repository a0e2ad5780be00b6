/** What one looks at stays put: the top left corner of an entity keeps its place on the screen while the layout around it changes. */

import type { PlacedGraph } from '../layout/placed';
import { type Camera, toScreenX, toScreenY, type View } from './camera';
import type { Motion } from './motion';

export interface Anchor {
  readonly entity: number;
  readonly screenX: number;
  readonly screenY: number;
}

export function anchorAt(placed: PlacedGraph, motion: Motion, camera: Camera, view: View, entity: number): Anchor {
  const { x, y } = motion.origin(placed, entity);
  return { entity, screenX: toScreenX(camera, view, x), screenY: toScreenY(camera, view, y) };
}

/** The camera that has the anchor where it was. */
export function heldCamera(anchor: Anchor, placed: PlacedGraph, motion: Motion, camera: Camera, view: View): Camera {
  const { x, y } = motion.origin(placed, anchor.entity);
  return {
    ...camera,
    x: x - (anchor.screenX - view.width / 2) / camera.zoom,
    y: y - (anchor.screenY - view.height / 2) / camera.zoom,
  };
}
