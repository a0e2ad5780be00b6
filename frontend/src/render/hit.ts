/** Which entity is at a point of the screen. The scope tree is the spatial index. */

import type { PlacedGraph } from '../layout/placed';
import { HEADER } from '../layout/scope/sizes';
import { type Camera, toGraphX, toGraphY, type View } from './camera';
import { LEAST_SCOPE } from './scene';

export interface Hit {
  readonly entity: number;
  /** For scopes: `title` where the title bar or, closed, the box itself is hit, `body` for the space around the content. */
  readonly part: 'node' | 'title' | 'body';
}

/** The innermost entity at a screen point, or null over the empty canvas. */
export function hitTest(placed: PlacedGraph, camera: Camera, view: View, screenX: number, screenY: number): Hit | null {
  const { tree } = placed;
  let x = toGraphX(camera, view, screenX);
  let y = toGraphY(camera, view, screenY);
  let found: Hit | null = null;
  for (let scope = 0; ; ) {
    const child = childAt(placed, scope, x, y);
    if (child < 0) return found;
    x -= placed.left[child]!;
    y -= placed.top[child]!;
    if (child < tree.nodeCount) return { entity: child, part: 'node' };
    scope = child - tree.nodeCount;
    // Scopes that are drawn as one rectangle are hit as one.
    const whole = placed.width[child]! * camera.zoom < LEAST_SCOPE || placed.height[child]! * camera.zoom < LEAST_SCOPE;
    if (!placed.open[scope] || whole) return { entity: child, part: 'title' };
    found = { entity: child, part: y < HEADER ? 'title' : 'body' };
  }
}

function childAt(placed: PlacedGraph, scope: number, x: number, y: number): number {
  const { tree, left, top, width, height } = placed;
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
    const child = tree.children[i]!;
    const [dx, dy] = [x - left[child]!, y - top[child]!];
    if (dx >= 0 && dy >= 0 && dx <= width[child]! && dy <= height[child]!) return child;
  }
  return -1;
}
