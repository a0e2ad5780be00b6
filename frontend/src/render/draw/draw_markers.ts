/** Marks NaN and Inf by shape, not only by colour: a badge if there is room, else a cross in a disc or a triangle. */

import { INF, NAN } from '../../model/graph/node_values';
import type { BoxList } from '../box_list';
import type { DrawingContext, Frame } from '../frame';
import { fontOf, roundSize } from '../text';

const BADGE_FROM = 0.6;
/** Markers of boxes that are hardly visible. */
const TINY = 5.5;

export function drawMarkers(frame: Frame, boxes: BoxList): void {
  const { colouring, scene } = frame;
  const tiny: [number[], number[]] = [[], []];
  for (let i = 0; i < boxes.count; i++) {
    const health = colouring.health[boxes.entity[i]!]!;
    if (health < INF) continue;
    if (scene.zoom >= BADGE_FROM && boxes.width[i]! > 30) drawBadge(frame, boxes, i, health === NAN);
    else tiny[health === NAN ? 0 : 1].push(i);
  }
  drawTinyMarkers(frame, boxes, tiny[0], true);
  drawTinyMarkers(frame, boxes, tiny[1], false);
}

function drawBadge({ context, scene, theme, fitter }: Frame, boxes: BoxList, i: number, nan: boolean): void {
  const size = roundSize(Math.min(12, Math.max(7, 8.5 * scene.zoom)));
  const text = nan ? 'NaN' : 'Inf';
  const width = fitter.width(text, size, 600) + size;
  const height = size * 1.55;
  // On the corner, clear of the box's texts.
  const x = boxes.x[i]! + boxes.width[i]! - 0.6 * width;
  const y = boxes.y[i]! - 0.72 * height;
  context.fillStyle = nan ? theme.nan.border : theme.inf.border;
  context.strokeStyle = theme.background;
  context.lineWidth = 1.5;
  context.beginPath();
  // Round for NaN, cornered for Inf.
  context.roundRect(x, y, width, height, nan ? height / 2 : 2);
  context.fill();
  context.stroke();
  context.fillStyle = theme.name === 'dark' ? '#14171d' : '#ffffff';
  context.font = fontOf(size, 600);
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, x + width / 2, y + height / 2 + 0.5);
}

function drawTinyMarkers({ context, theme, scene }: Frame, boxes: BoxList, marked: readonly number[], nan: boolean): void {
  if (marked.length === 0) return;
  const radius = Math.max(TINY / 2, Math.min(4.5, 7 * scene.zoom));
  context.beginPath();
  // At low zoom many markers coincide: one of them is enough.
  const spots = new Set<number>();
  for (const i of marked) {
    const x = boxes.x[i]! + boxes.width[i]! - Math.min(radius, boxes.width[i]! / 2);
    const y = boxes.y[i]! + Math.min(radius, boxes.height[i]! / 2);
    const spot = Math.round(x / 3) * 65536 + Math.round(y / 3);
    if (spots.has(spot)) continue;
    spots.add(spot);
    if (nan) {
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    } else {
      context.moveTo(x, y - radius * 1.15);
      context.lineTo(x + radius * 1.1, y + radius * 0.85);
      context.lineTo(x - radius * 1.1, y + radius * 0.85);
      context.closePath();
    }
  }
  context.fillStyle = nan ? theme.nan.border : theme.inf.border;
  context.fill();
  context.strokeStyle = theme.background;
  context.lineWidth = 1;
  context.stroke();
}

// A star at the upper left corner of bookmarked entities.

const LEAST_RADIUS = 4;
const MOST_RADIUS = 9;
const POINTS = 5;
/** Distance of a star's inner corners from its centre. */
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

function traceStar(context: DrawingContext, x: number, y: number, radius: number): void {
  for (let k = 0; k < 2 * POINTS; k++) {
    const angle = (k * Math.PI) / POINTS - Math.PI / 2;
    const reach = k % 2 === 0 ? radius : INNER * radius;
    const [px, py] = [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
    if (k === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  }
  context.closePath();
}
