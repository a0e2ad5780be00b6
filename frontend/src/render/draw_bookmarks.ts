/** A star at the upper left corner of what is bookmarked. */

import type { BoxList } from './box_list';
import type { Frame } from './frame';
import type { Pen } from './pen';

const LEAST_RADIUS = 4;
const MOST_RADIUS = 9;
const POINTS = 5;
/** How far a star's inner corners are from its middle. */
const INNER = 0.45;

export function drawBookmarks(frame: Frame, boxes: BoxList): void {
  const { context, bookmarks, scene, theme } = frame;
  if (bookmarks.size === 0) return;
  const radius = Math.max(LEAST_RADIUS, Math.min(MOST_RADIUS, 6.5 * scene.zoom));
  context.beginPath();
  for (let i = 0; i < boxes.count; i++) {
    if (bookmarks.has(boxes.entity[i]!)) traceStar(context, boxes.x[i]! + 0.2 * radius, boxes.y[i]! + 0.2 * radius, radius);
  }
  context.lineJoin = 'round';
  context.strokeStyle = theme.background;
  context.lineWidth = 3;
  context.stroke();
  context.fillStyle = theme.selection;
  context.fill();
}

function traceStar(context: Pen, x: number, y: number, radius: number): void {
  for (let k = 0; k < 2 * POINTS; k++) {
    const angle = (k * Math.PI) / POINTS - Math.PI / 2;
    const reach = k % 2 === 0 ? radius : INNER * radius;
    const [px, py] = [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
    if (k === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  }
  context.closePath();
}
