/** Draws nodes and collapsed scopes, in batches of one style: changing colours of the canvas costs more than drawing. */

import { opFamily } from '../../model/graph/op_kinds';
import type { BoxList } from '../box_list';
import type { DrawingContext, Frame } from '../frame';
import { textScale } from '../text';
import type { BoxStyle } from '../theme';

/** At lower zoom boxes are plain rectangles of one colour: all of them, or neighbours would look different. */
const DETAIL_FROM = 0.22;
/** Narrower boxes (expanded scopes that are too small) are plain at any zoom. */
export const LEAST_DETAILED = 9;

export const NODE = 0;
const SMALL = 1;
const CLOSED = 2;
const KINDS = 3;

export function boxKind({ drawing }: Pick<Frame, 'drawing'>, entity: number): number {
  if (entity >= drawing.tree.nodeCount) return CLOSED;
  return drawing.small[entity] ? SMALL : NODE;
}

/** Corner radius of a box; limited at high zoom. */
export function cornerRadius(kind: number, height: number, zoom: number): number {
  return kind === SMALL ? height / 2 : (kind === CLOSED ? 8 : 6) * textScale(zoom);
}

export function boxStyle(frame: Frame, entity: number): BoxStyle {
  const index = frame.colouring.index[entity]!;
  if (index > 0) return frame.colouring.styles[index]!;
  const kind = boxKind(frame, entity);
  return kind === CLOSED ? frame.theme.closed : kind === SMALL ? frame.theme.small : frame.theme.node;
}

export function drawBoxes(frame: Frame, boxes: BoxList): void {
  const batches = new Map<number, number[]>();
  const { colouring } = frame;
  const far = frame.scene.zoom < DETAIL_FROM;
  for (let i = 0; i < boxes.count; i++) {
    const entity = boxes.entity[i]!;
    const tiny = far || boxes.width[i]! < LEAST_DETAILED || boxes.height[i]! < 4;
    const faded = boxes.alpha[i]! < 255;
    const key = ((colouring.index[entity]! * KINDS + boxKind(frame, entity)) * 2 + (tiny ? 1 : 0)) * 2 + (faded ? 1 : 0);
    const batch = batches.get(key);
    if (batch) batch.push(i);
    else batches.set(key, [i]);
  }
  for (const [key, batch] of batches) {
    const first = batch[0]!;
    frame.context.globalAlpha = boxes.alpha[first]! / 255;
    const style = boxStyle(frame, boxes.entity[first]!);
    if (key & 2) drawTiny(frame, boxes, batch, style);
    else drawDetailed(frame, boxes, batch, style, boxKind(frame, boxes.entity[first]!));
  }
  frame.context.globalAlpha = 1;
}

/** One by one: a path with thousands of rectangles is slowest to rasterise. */
function drawTiny({ context }: Frame, boxes: BoxList, batch: readonly number[], style: BoxStyle): void {
  context.fillStyle = style.solid;
  for (const i of batch) context.fillRect(boxes.x[i]!, boxes.y[i]!, Math.max(1, boxes.width[i]!), Math.max(1, boxes.height[i]!));
}

function drawDetailed(frame: Frame, boxes: BoxList, batch: readonly number[], style: BoxStyle, kind: number): void {
  const { context, scene } = frame;
  if (kind === CLOSED && scene.zoom > 0.3) {
    const { tree } = frame.drawing;
    const groups = batch.filter((i) => tree.blockGroups.has(boxes.entity[i]! - tree.nodeCount));
    if (groups.length > 0) drawSheets(frame, boxes, groups, style, 2);
    drawSheets(frame, boxes, batch, style, 1);
  }
  context.beginPath();
  for (const i of batch) addBox(context, boxes, i, kind, scene.zoom, 0.5);
  context.fillStyle = style.fill;
  context.fill();
  context.strokeStyle = style.border;
  context.lineWidth = kind === CLOSED ? 1.25 : 1;
  context.stroke();
  if (kind === NODE && scene.zoom > 0.3) drawStripes(frame, boxes, batch);
}

/** A second sheet behind a collapsed scope indicates content; a group of blocks has a third one. */
function drawSheets({ context, scene }: Frame, boxes: BoxList, batch: readonly number[], style: BoxStyle, sheet: number): void {
  const offset = 3 * textScale(scene.zoom) * sheet;
  context.beginPath();
  for (const i of batch) {
    context.roundRect(
      boxes.x[i]! + offset * 1.4,
      boxes.y[i]! + offset + 0.5,
      boxes.width[i]! - 2.8 * offset,
      boxes.height[i]!,
      cornerRadius(CLOSED, 0, scene.zoom),
    );
  }
  context.fillStyle = style.fill;
  context.fill();
  context.strokeStyle = style.border;
  context.lineWidth = 0.75;
  context.stroke();
}

function addBox(context: DrawingContext, { x, y, width, height }: BoxList, i: number, kind: number, zoom: number, inset: number): void {
  const radius = cornerRadius(kind, height[i]!, zoom);
  // On whole pixels: borders between two pixels would blur.
  const [left, top] = [Math.round(x[i]!), Math.round(y[i]!)];
  const wide = Math.max(1, Math.round(x[i]! + width[i]!) - left - 2 * inset);
  const high = Math.max(1, Math.round(y[i]! + height[i]!) - top - 2 * inset);
  context.roundRect(left + inset, top + inset, wide, high, Math.max(0, radius));
}

/** A bar on the left in the colour of the op's family. */
function drawStripes({ context, scene, theme, drawing }: Frame, boxes: BoxList, batch: readonly number[]): void {
  const { opTypes } = drawing.graph;
  const byColour = new Map<string, number[]>();
  for (const i of batch) {
    const colour = theme.families[opFamily(opTypes.at(boxes.entity[i]!))];
    const same = byColour.get(colour);
    if (same) same.push(i);
    else byColour.set(colour, [i]);
  }
  const scale = textScale(scene.zoom);
  const width = Math.max(1.5, 3 * scale);
  for (const [colour, same] of byColour) {
    context.fillStyle = colour;
    context.beginPath();
    for (const i of same) {
      const inset = Math.min(boxes.height[i]! * 0.2, 8 * scale);
      context.roundRect(boxes.x[i]! + 5.5 * scale, boxes.y[i]! + inset, width, boxes.height[i]! - 2 * inset, width / 2);
    }
    context.fill();
  }
}
