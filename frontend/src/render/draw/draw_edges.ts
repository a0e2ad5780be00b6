/** Draws meta edges of the expanded scopes of one depth: data edges by thickness, control edges dashed; at high zoom with labels. */

import type { BoxList } from '../box_list';
import type { View } from '../camera';
import { traceArrow, traceRoute, traceStraight } from '../edge_paths';
import type { Frame } from '../frame';
import { roundSize, textScale } from '../text';
import { drawTexts, type TextItem } from './draw_labels';

/** Smaller scopes show no edges. */
const LEAST_SCOPE = 44;
/** Edges shorter than this many pixels are not drawn. */
const LEAST_EDGE = 4.5;
/** Below this zoom edges are straight and have no arrow heads. */
const CURVES_FROM = 0.16;
const ARROWS_FROM = 0.28;
/** Control edges are faint: they carry no data. */
const CONTROL_ALPHA = 0.65;

/** Line width at zoom 1, by the number of graph edges behind a meta edge. */
const WIDTHS = [1.15, 1.8, 2.6, 3.6] as const;

function widthClass(count: number): number {
  return count < 2 ? 0 : count < 6 ? 1 : count < 25 ? 2 : 3;
}

export function edgeWidth(kind: number, zoom: number): number {
  return WIDTHS[kind]! * Math.min(1.3, Math.max(0.5, Math.sqrt(zoom)));
}

export function arrowSize(kind: number, zoom: number): number {
  return Math.min(9, Math.max(3.5, (5.5 + kind) * zoom));
}

/** Calls back with the position of each drawn meta edge's points in its scope's routes. */
export function forEachRoute(
  frame: Pick<Frame, 'drawing'>,
  scope: number,
  visit: (meta: number, at: number, points: number) => void,
): void {
  const { meta, placed } = frame.drawing;
  const routes = placed.routes[scope];
  if (!routes) return;
  let at = 0;
  for (let m = meta.start[scope]!; m < meta.start[scope + 1]!; m++) {
    const points = routes[at++]!;
    if (points > 1) visit(m, at, points);
    at += 2 * points;
  }
}

interface Batches {
  /** For each width class, then for control edges: scope index in the list, position, points, … */
  readonly items: number[][];
}

export function drawEdges(frame: Frame, scopes: BoxList): void {
  const { context, theme, scene, motion } = frame;
  const batches = collect(frame, scopes);
  context.globalAlpha = motion.active ? Math.max(0.1, motion.t) : 1;
  WIDTHS.forEach((_, kind) => {
    drawBatch(frame, scopes, batches.items[kind]!, kind, theme.edge);
  });
  if (frame.showControl) {
    context.setLineDash([4 * Math.max(0.6, scene.zoom), 3 * Math.max(0.6, scene.zoom)]);
    context.globalAlpha *= CONTROL_ALPHA;
    drawBatch(frame, scopes, batches.items[WIDTHS.length]!, 0, theme.control);
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
}

function collect(frame: Frame, scopes: BoxList): Batches {
  const { drawing, scene } = frame;
  const { meta, placed, tree } = drawing;
  const items: number[][] = [...WIDTHS.map(() => []), []];
  for (let i = 0; i < scopes.count; i++) {
    if (Math.min(scopes.width[i]!, scopes.height[i]!) < LEAST_SCOPE) continue;
    const scope = scopes.entity[i]! - tree.nodeCount;
    const routes = placed.routes[scope];
    const ox = scopes.x[i]! + placed.shift[scope]! * scene.zoom;
    forEachRoute(frame, scope, (m, at, points) => {
      if (!routes || unseen(routes, at, points, ox, scopes.y[i]!, scene.zoom, scene.view)) return;
      const kind = meta.data[m]! > 0 ? widthClass(meta.data[m]!) : WIDTHS.length;
      items[kind]!.push(i, at, points);
    });
  }
  return { items };
}

/** Whether a route is outside the view, or too short to draw. */
function unseen(routes: Float32Array, at: number, points: number, ox: number, oy: number, zoom: number, view: View): boolean {
  let [left, right, top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let k = 0; k < points; k++) {
    const x = ox + routes[at + 2 * k]! * zoom;
    const y = oy + routes[at + 2 * k + 1]! * zoom;
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < top) top = y;
    if (y > bottom) bottom = y;
  }
  if (right < 0 || left > view.width || bottom < 0 || top > view.height) return true;
  return right - left < LEAST_EDGE && bottom - top < LEAST_EDGE;
}

function drawBatch(frame: Frame, scopes: BoxList, items: readonly number[], kind: number, colour: string): void {
  if (items.length === 0) return;
  const { context, scene, drawing } = frame;
  const { placed, tree } = drawing;
  const trace = scene.zoom < CURVES_FROM ? traceStraight : traceRoute;
  const arrow = arrowSize(kind, scene.zoom);
  const each = (draw: (routes: Float32Array, at: number, points: number, ox: number, oy: number) => void): void => {
    context.beginPath();
    for (let k = 0; k < items.length; k += 3) {
      const i = items[k]!;
      const scope = scopes.entity[i]! - tree.nodeCount;
      draw(placed.routes[scope]!, items[k + 1]!, items[k + 2]!, scopes.x[i]! + placed.shift[scope]! * scene.zoom, scopes.y[i]!);
    }
  };
  each((routes, at, points, ox, oy) => trace(context, routes, at, points, ox, oy, scene.zoom));
  context.strokeStyle = colour;
  context.lineWidth = edgeWidth(kind, scene.zoom);
  context.stroke();
  if (scene.zoom < ARROWS_FROM) return;
  each((routes, at, points, ox, oy) => traceArrow(context, routes, at, points, ox, oy, scene.zoom, arrow));
  context.fillStyle = colour;
  context.fill();
}

// Labels along edges at high zoom: the tensor's shape, or the number of tensors in a bundle.

const FROM_ZOOM = 0.8;
const FONT = 9;

export function drawEdgeLabels(frame: Frame, scopes: BoxList, depth: number): void {
  const { scene, drawing, theme, motion } = frame;
  if (scene.zoom < FROM_ZOOM || motion.active) return;
  const { tree, placed } = drawing;
  const items: TextItem[] = [];
  const scale = textScale(scene.zoom);
  const size = roundSize(FONT * scale);
  const halo = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
  for (let i = 0; i < scopes.count; i++) {
    const scope = scopes.entity[i]! - tree.nodeCount;
    const routes = placed.routes[scope];
    if (!routes) continue;
    const ox = scopes.x[i]! + placed.shift[scope]! * scene.zoom;
    for (const { at, text, right } of labelled(frame, scope, routes)) {
      const x = ox + routes[at]! * scene.zoom;
      // Edges of cycles begin at the top of a box.
      const rises = routes[at + 3]! < routes[at + 1]!;
      const y = scopes.y[i]! + routes[at + 1]! * scene.zoom + (rises ? -9 : 9) * scale;
      if (x < -100 || y < -30 || x > scene.view.width + 100 || y > scene.view.height) continue;
      const side = right ? 1 : -1;
      const common = { text, size, weight: 400, colour: theme.edgeLabel, alpha: 1, halo } as const;
      items.push({ ...common, x: x + side * 5 * scale, y, align: right ? 'left' : 'right' });
    }
  }
  drawTexts(frame, items);
}

interface Labelled {
  readonly at: number;
  readonly text: string;
  /** Side of the label at the start of the edges: opposite to where they turn. */
  readonly right: boolean;
}

/** Where labels start: a node shows its shape in its box, so only edges out of scopes need one per source. */
function labelled(frame: Frame, scope: number, routes: Float32Array): Labelled[] {
  const { meta } = frame.drawing;
  const found: Labelled[] = [];
  let [source, turnsRight, turnsLeft] = [-1, false, false];
  forEachRoute(frame, scope, (m, at, points) => {
    if (meta.data[m] === 0) return;
    const turn = routes[at + 2 * (points - 1)]! - routes[at]!;
    if (meta.source[m] !== source) {
      [source, turnsRight, turnsLeft] = [meta.source[m]!, false, false];
      const text = edgeLabel(frame, m);
      if (!text) source = -1;
      else found.push({ at, text, right: true });
    }
    if (source < 0) return;
    turnsRight ||= turn > 1;
    turnsLeft ||= turn < -1;
    found[found.length - 1] = { ...found[found.length - 1]!, right: turnsLeft || !turnsRight };
  });
  return found;
}

function edgeLabel({ drawing }: Frame, m: number): string {
  const { meta, graph, tree } = drawing;
  if (!meta.single[m]) return `×${meta.data[m]}`;
  const edge = meta.edge[m]!;
  if (meta.source[m]! < tree.nodeCount || graph.edges.slot[edge] !== 0) return '';
  return graph.shapes.at(graph.edges.source[edge]!);
}
