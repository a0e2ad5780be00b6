/** Finds the node, scope or edge under the pointer. */

/** Which entity is at a point of the screen. The scope tree is the spatial index. */

import type { PlacedGraph } from '../layout/placed';
import { HEADER } from '../layout/scope/sizes';
import { type Camera, toGraphX, toGraphY, type View } from './camera';
import { forEachRoute } from './draw/draw_edges';
import type { Drawing } from './frame';
import { LEAST_SCOPE } from './scene';

export interface Hit {
  readonly entity: number;
  /** For scopes: `title` for the title bar or a collapsed box, `body` for the space around the content. */
  readonly part: 'node' | 'title' | 'body';
}

/** The innermost entity at a screen point, or null on the empty canvas. */
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

// Which meta edge is under the pointer.

/** Curves are tested as this many straight segments. */
const PIECES = 10;

/** The meta edge of `scope` nearest to a point in its frame, within `reach`; -1 for none. */
export function edgeAt(drawing: Drawing, scope: number, x: number, y: number, reach: number): number {
  const routes = drawing.placed.routes[scope];
  if (!routes) return -1;
  let nearest = -1;
  let least = reach * reach;
  const px = x - drawing.placed.shift[scope]!;
  forEachRoute({ drawing }, scope, (meta, at, points) => {
    for (let k = 0; k + 1 < points; k++) {
      const distance = toSegment(
        px,
        y,
        routes[at + 2 * k]!,
        routes[at + 2 * k + 1]!,
        routes[at + 2 * k + 2]!,
        routes[at + 2 * k + 3]!,
        reach,
      );
      if (distance >= least) continue;
      least = distance;
      nearest = meta;
    }
  });
  return nearest;
}

/** Squared distance to the line or upright S-curve from x1, y1 to x2, y2. */
function toSegment(px: number, py: number, x1: number, y1: number, x2: number, y2: number, reach: number): number {
  if (px < Math.min(x1, x2) - reach || px > Math.max(x1, x2) + reach || py < Math.min(y1, y2) - reach || py > Math.max(y1, y2) + reach)
    return Number.POSITIVE_INFINITY;
  if (x1 === x2 || y1 === y2) return toLine(px, py, x1, y1, x2, y2);
  let best = Number.POSITIVE_INFINITY;
  let [ax, ay] = [x1, y1];
  for (let i = 1; i <= PIECES; i++) {
    const t = i / PIECES;
    const s = t * t * (3 - 2 * t);
    // The curve's control points share the middle height: x eases in and out, y runs 1.5 t - 1.5 t² + t³ of the way.
    const [bx, by] = [x1 + (x2 - x1) * s, y1 + (y2 - y1) * (1.5 * t - 1.5 * t * t + t * t * t)];
    best = Math.min(best, toLine(px, py, ax, ay, bx, by));
    [ax, ay] = [bx, by];
  }
  return best;
}

function toLine(px: number, py: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const t = length ? Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / length)) : 0;
  return (px - x1 - t * dx) ** 2 + (py - y1 - t * dy) ** 2;
}
