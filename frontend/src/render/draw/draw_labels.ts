/** Draws texts in boxes: scaled with the zoom, at least readable if the box has room. */

import { CLOSED_HEIGHT, NODE_FONT, NODE_HEIGHT, SCOPE_FONT, SMALL_FONT, SUBTITLE_FONT } from '../../layout/scope/sizes';
import { visible } from '../../lib/text/visible_text';
import { nodeSubtitle, SiblingNames, scopeSubtitle } from '../../model/graph/labels';
import { entityLabel, type ScopeTree } from '../../model/graph/tree';
import type { BoxList } from '../box_list';
import type { Drawing, Frame } from '../frame';
import { fontOf, roundSize, textScale, type Weight } from '../text';
import { boxKind, boxStyle, LEAST_DETAILED } from './draw_boxes';
import { textMiddle, trendLabel } from './draw_trends';

/** Smaller text is not drawn. */
const LEAST_FONT = 6.5;
/** Titles of small boxes grow to this if there is room. */
const READABLE = 8.5;
/** From this zoom on a box shows its second line. */
const SUBTITLE_FROM = 0.68;
const GLYPH_FROM = 0.45;
const HALO = 3;

export interface TextItem {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight: Weight;
  readonly colour: string;
  readonly align: CanvasTextAlign;
  readonly alpha: number;
  /** Halo around letters with lines below them. */
  readonly halo?: string;
}

export function drawBoxLabels(frame: Frame, boxes: BoxList): void {
  const items: TextItem[] = [];
  for (let i = 0; i < boxes.count; i++) {
    if (boxes.width[i]! < LEAST_DETAILED || boxes.height[i]! < LEAST_FONT + 1) continue;
    const kind = boxKind(frame, boxes.entity[i]!);
    if (kind === 0) addNode(frame, boxes, i, items);
    else if (kind === 1) addSmall(frame, boxes, i, items);
    else addClosed(frame, boxes, i, items);
  }
  drawTexts(frame, items);
  if (frame.scene.zoom >= GLYPH_FROM) drawPlus(frame, boxes);
}

/** Draws texts grouped by font and colour. */
export function drawTexts({ context }: Frame, items: TextItem[]): void {
  items.sort((a, b) => a.size - b.size || a.weight - b.weight || (a.colour < b.colour ? -1 : a.colour > b.colour ? 1 : 0));
  context.textBaseline = 'middle';
  context.lineWidth = HALO;
  context.lineJoin = 'round';
  let [font, colour, align] = ['', '', ''];
  for (const item of items) {
    const wanted = fontOf(item.size, item.weight);
    if (wanted !== font) context.font = font = wanted;
    if (item.colour !== colour) context.fillStyle = colour = item.colour;
    if (item.align !== align) context.textAlign = align = item.align;
    context.globalAlpha = item.alpha;
    if (item.halo) {
      context.strokeStyle = item.halo;
      context.strokeText(item.text, item.x, item.y);
    }
    context.fillText(item.text, item.x, item.y);
  }
  context.globalAlpha = 1;
}

/** At least the natural size, up to readable as far as the whole text fits. */
function fontSize({ fitter, scene }: Frame, text: string, natural: number, weight: Weight, height: number, room: number): number {
  const least = natural * textScale(scene.zoom);
  const wanted = Math.min(READABLE, height * 0.66);
  if (wanted <= least) return roundSize(least);
  return roundSize(Math.max(least, LEAST_FONT, Math.min(wanted, room / fitter.width(text, 1, weight))));
}

function addNode(frame: Frame, boxes: BoxList, i: number, items: TextItem[]): void {
  const { scene, fitter, drawing } = frame;
  const entity = boxes.entity[i]!;
  const [x, y, width, height] = [boxes.x[i]!, boxes.y[i]!, boxes.width[i]!, boxes.height[i]!];
  const style = boxStyle(frame, entity);
  const alpha = boxes.alpha[i]! / 255;
  const scale = textScale(scene.zoom);
  const indent = 14 * scale;
  const room = width - indent - 8 * scale;
  const subtitle = scene.zoom >= SUBTITLE_FROM ? nodeSubtitle(drawing.tree, drawing.graph, entity) : '';
  const text = visibleLabel(drawing, entity);
  const size = subtitle ? roundSize(NODE_FONT * scale) : fontSize(frame, text, NODE_FONT, 500, height, room);
  const title = fitter.fit(text, size, 500, room, siblingNames(drawing, entity));
  const middle = y + textMiddle(frame, entity, height);
  const lift = subtitle ? (NODE_HEIGHT * scale) / 5.2 : 0;
  if (title) items.push({ text: title, x: x + indent, y: middle - lift, size, weight: 500, colour: style.text, align: 'left', alpha });
  if (!subtitle) return;
  const small = roundSize(SUBTITLE_FONT * scale);
  const second = fitter.fit(subtitle, small, 400, room);
  if (second)
    items.push({ text: second, x: x + indent, y: middle + lift, size: small, weight: 400, colour: style.subtitle, align: 'left', alpha });
  const value = trendLabel(frame, entity);
  const end = x + indent + fitter.width(second, small, 400) + 10;
  const right = x + width - 8 * scale;
  if (value && end + fitter.width(value, small, 500) <= right)
    items.push({ text: value, x: right, y: middle + lift, size: small, weight: 500, colour: style.text, align: 'right', alpha });
}

function addSmall(frame: Frame, boxes: BoxList, i: number, items: TextItem[]): void {
  const entity = boxes.entity[i]!;
  const room = boxes.width[i]! - 10 * textScale(frame.scene.zoom);
  const name = visibleLabel(frame.drawing, entity);
  const size = fontSize(frame, name, SMALL_FONT, 400, Math.min(boxes.height[i]!, 11), room);
  const text = frame.fitter.fit(name, size, 400, room, siblingNames(frame.drawing, entity));
  if (!text) return;
  const [x, y] = [boxes.x[i]! + boxes.width[i]! / 2, boxes.y[i]! + boxes.height[i]! / 2];
  items.push({ text, x, y, size, weight: 400, colour: boxStyle(frame, entity).text, align: 'center', alpha: boxes.alpha[i]! / 255 });
}

function addClosed(frame: Frame, boxes: BoxList, i: number, items: TextItem[]): void {
  const { scene, fitter, drawing } = frame;
  const entity = boxes.entity[i]!;
  const [x, y, width, height] = [boxes.x[i]!, boxes.y[i]!, boxes.width[i]!, boxes.height[i]!];
  // An expanded scope that is too small has no text: its size is not that of a collapsed one.
  if (drawing.placed.open[entity - drawing.tree.nodeCount]) return;
  const style = boxStyle(frame, entity);
  const alpha = boxes.alpha[i]! / 255;
  const detailed = scene.zoom >= SUBTITLE_FROM;
  const scale = textScale(scene.zoom);
  const indent = (scene.zoom >= GLYPH_FROM ? 28 : 8) * scale;
  const room = width - indent - 8 * scale;
  const name = visibleLabel(drawing, entity);
  const size = detailed ? roundSize(SCOPE_FONT * scale) : fontSize(frame, name, SCOPE_FONT, 600, height, room);
  const lift = detailed ? (CLOSED_HEIGHT * scale) / 5.4 : 0;
  const title = fitter.fit(name, size, 600, room, siblingNames(drawing, entity));
  if (title)
    items.push({ text: title, x: x + indent, y: y + height / 2 - lift, size, weight: 600, colour: style.text, align: 'left', alpha });
  if (!detailed) return;
  const small = roundSize(SUBTITLE_FONT * scale);
  const text = fitter.fit(scopeSubtitle(drawing.tree, drawing.graph, entity - drawing.tree.nodeCount), small, 400, room);
  if (text)
    items.push({ text, x: x + indent, y: y + height / 2 + lift, size: small, weight: 400, colour: style.subtitle, align: 'left', alpha });
}

/** In the text colour of the box, to be visible on any fill. */
function drawPlus(frame: Frame, boxes: BoxList): void {
  const { scene, drawing } = frame;
  const scale = textScale(scene.zoom);
  const byColour = new Map<string, Sign[]>();
  for (let i = 0; i < boxes.count; i++) {
    const entity = boxes.entity[i]!;
    if (entity < drawing.tree.nodeCount || boxes.width[i]! < 40) continue;
    const { subtitle } = boxStyle(frame, entity);
    const sign = { x: boxes.x[i]! + 16 * scale, y: boxes.y[i]! + boxes.height[i]! / 2, size: scale };
    const same = byColour.get(subtitle);
    if (same) same.push(sign);
    else byColour.set(subtitle, [sign]);
  }
  for (const [colour, signs] of byColour) drawSigns(frame, signs, null, colour, true);
}

// Signs that expand (plus) and collapse (minus) scopes.

export interface Sign {
  /** Its centre. */
  readonly x: number;
  readonly y: number;
  /** 1 for a sign of 15 pixels. */
  readonly size: number;
}

/** Draws signs of one colour; `ground` fills them against edges behind, null leaves them transparent. */
export function drawSigns({ context }: Frame, signs: readonly Sign[], ground: string | null, colour: string, plus: boolean): void {
  if (signs.length === 0) return;
  context.beginPath();
  for (const { x, y, size } of signs) {
    const arm = 3.6 * size;
    context.roundRect(x - 7.5 * size, y - 7.5 * size, 15 * size, 15 * size, 4 * size);
    context.moveTo(x - arm, y);
    context.lineTo(x + arm, y);
    if (!plus) continue;
    context.moveTo(x, y - arm);
    context.lineTo(x, y + arm);
  }
  if (ground !== null) {
    context.fillStyle = ground;
    context.fill();
  }
  context.strokeStyle = colour;
  context.lineWidth = Math.max(0.8, 1.2 * (signs[0]?.size ?? 1));
  context.stroke();
}

export function visibleLabel({ tree, graph }: Pick<Drawing, 'tree' | 'graph'>, entity: number): string {
  return visible(entityLabel(tree, graph.paths, entity));
}

/** Larger scopes are not compared, which would take longer than a frame; most names end in numbers, which are kept anyway. */
const MOST_SIBLINGS = 2000;

const known = new WeakMap<ScopeTree, Map<number, SiblingNames>>();

/** The names in an entity's scope; read on demand. */
export function siblingNames({ tree, graph }: Pick<Drawing, 'tree' | 'graph'>, entity: number): SiblingNames | undefined {
  const scope = tree.parent[entity]!;
  if (tree.childStart[scope + 1]! - tree.childStart[scope]! > MOST_SIBLINGS) return undefined;
  const scopes = known.get(tree) ?? new Map<number, SiblingNames>();
  known.set(tree, scopes);
  let names = scopes.get(scope);
  if (!names) {
    names = new SiblingNames(() => {
      const children = tree.children.subarray(tree.childStart[scope], tree.childStart[scope + 1]);
      return Array.from(children, (child) => visibleLabel({ tree, graph }, child));
    });
    scopes.set(scope, names);
  }
  return names;
}
