/**
 * Adds edges to a canvas path. Points of a route are joined by straight lines if they share x or y, else by a curve with vertical ends.
 */

import type { DrawingContext } from './frame';

const CORNER = 9;

/** Adds a route (x, y, x, y, … in graph units, from `at`) to the current path; its frame's origin is at ox, oy on the screen. */
export function traceRoute(
  context: DrawingContext,
  points: ArrayLike<number>,
  at: number,
  count: number,
  ox: number,
  oy: number,
  zoom: number,
): void {
  let x = ox + points[at]! * zoom;
  let y = oy + points[at + 1]! * zoom;
  context.moveTo(x, y);
  for (let i = 1; i < count; i++) {
    const nx = ox + points[at + 2 * i]! * zoom;
    const ny = oy + points[at + 2 * i + 1]! * zoom;
    if (Math.abs(nx - x) > 0.01 && Math.abs(ny - y) > 0.01) {
      const middle = (y + ny) / 2;
      context.bezierCurveTo(x, middle, nx, middle, nx, ny);
    } else if (i + 1 < count && isCorner(points, at + 2 * i)) {
      const cx = ox + points[at + 2 * i + 2]! * zoom;
      const cy = oy + points[at + 2 * i + 3]! * zoom;
      const room = Math.min(Math.hypot(nx - x, ny - y), Math.hypot(cx - nx, cy - ny)) / 2;
      context.arcTo(nx, ny, cx, cy, Math.min(CORNER * zoom, room));
    } else context.lineTo(nx, ny);
    x = nx;
    y = ny;
  }
}

/** Straight from point to point: for edges so small that curves are invisible. */
export function traceStraight(
  context: DrawingContext,
  points: ArrayLike<number>,
  at: number,
  count: number,
  ox: number,
  oy: number,
  zoom: number,
): void {
  context.moveTo(ox + points[at]! * zoom, oy + points[at + 1]! * zoom);
  for (let i = 1; i < count; i++) context.lineTo(ox + points[at + 2 * i]! * zoom, oy + points[at + 2 * i + 1]! * zoom);
}

/** Whether a route turns by a right angle at the point at `at`. */
function isCorner(points: ArrayLike<number>, at: number): boolean {
  const [px, py, x, y, nx, ny] = [points[at - 2]!, points[at - 1]!, points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!];
  return (px === x && py !== y && ny === y && nx !== x) || (py === y && px !== x && nx === x && ny !== y);
}

/** An arrow head whose tip is at the end of a route. */
export function traceArrow(
  context: DrawingContext,
  points: ArrayLike<number>,
  at: number,
  count: number,
  ox: number,
  oy: number,
  zoom: number,
  size: number,
): void {
  const last = at + 2 * (count - 1);
  const [x, y] = [points[last]!, points[last + 1]!];
  const [px, py] = [points[last - 2]!, points[last - 1]!];
  // A curve ends vertically, whatever the direction of its chord.
  const upright = px !== x && py !== y;
  const [dx, dy] = upright || px === x ? [0, Math.sign(y - py) || 1] : [Math.sign(x - px), 0];
  arrowHead(context, ox + x * zoom, oy + y * zoom, dx, dy, size);
}

/** A triangle with its tip at x, y, pointing along dx, dy (a unit vector along an axis). */
export function arrowHead(context: DrawingContext, x: number, y: number, dx: number, dy: number, size: number): void {
  const half = size * 0.55;
  context.moveTo(x, y);
  context.lineTo(x - dx * size - dy * half, y - dy * size + dx * half);
  context.lineTo(x - dx * size + dy * half, y - dy * size - dx * half);
  context.closePath();
}
