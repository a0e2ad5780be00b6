/** Draws what changes with the pointer, on a canvas above the graph: hover, selection with its edges, search hits, marks. */

import type { Marks, Neighbour } from '../../model/graph/neighbours';
import { INF } from '../../model/graph/node_values';
import { entityLabel } from '../../model/graph/tree';
import { BoxList } from '../box_list';
import type { Camera } from '../camera';
import type { Frame } from '../frame';
import { type Link, Linker, screenBox } from '../neighbour_links';
import { fontOf, roundSize } from '../text';
import { boxKind, cornerRadius } from './draw_boxes';
import { edgeWidth } from './draw_edges';
import { drawMarkers } from './draw_markers';

/** More links than this are drawn lightly. */
const MANY_LINKS = 60;
/** Opacity of everything outside a trace. */
const VEIL = 0.62;
/** Opacity of a link where it crosses boxes. */
const BEHIND_BOXES = 0.35;

export interface Highlights {
  readonly selected: number;
  readonly hovered: number;
  readonly neighbours: readonly Neighbour[];
  /** A meta edge. */
  readonly hoveredEdge: number;
  /** Search hits. */
  readonly hits: Marks | null;
  readonly currentHit: number;
  /** Entities on the path between hits. */
  readonly ways: readonly (readonly number[])[];
  readonly marks: Marks | null;
  /** Entities of a chain. */
  readonly chain: readonly number[];
  /** Traced entities: all others fade. */
  readonly traced: Marks | null;
  /** The traced path. */
  readonly path: readonly number[];
}

export function drawHighlights(frame: Frame, camera: Camera, highlights: Highlights): void {
  const { context, scene, theme } = frame;
  context.clearRect(0, 0, scene.view.width, scene.view.height);
  if (highlights.selected >= 0) drawLinksBehind(frame, camera, highlights);
  if (highlights.traced) {
    drawVeil(frame, highlights.traced);
    drawRings(frame, highlights.traced, theme.trace, true);
    drawChain(frame, camera, highlights.path, theme.trace);
  }
  if (highlights.marks) drawRings(frame, highlights.marks, theme.nan.border, false);
  drawChain(frame, camera, highlights.chain, theme.nan.border);
  for (const way of highlights.ways) {
    drawChain(frame, camera, way, theme.hit);
    for (const entity of way) outline(frame, camera, entity, theme.hit, 1.25, 0);
  }
  if (highlights.hits) drawRings(frame, highlights.hits, theme.hit, true);
  if (highlights.hoveredEdge >= 0) drawHoveredEdge(frame, camera, highlights.hoveredEdge);
  if (highlights.hovered >= 0 && highlights.hovered !== highlights.selected)
    outline(frame, camera, highlights.hovered, theme.hover, 1.5, 0);
  if (highlights.selected >= 0) drawSelection(frame, camera, highlights);
  if (highlights.currentHit >= 0) outline(frame, camera, highlights.currentHit, theme.currentHit, 2.5, 3);
  drawMarkersAgain(frame, highlights);
  // Sticky titles are above everything else.
  for (const { x, y, right, bottom } of frame.moved ?? []) context.clearRect(x, y, right - x, bottom - y);
}

function outline(frame: Frame, camera: Camera, entity: number, colour: string, width: number, distance: number): void {
  const { context, scene } = frame;
  const box = screenBox(frame, camera, entity);
  const size = Math.max(8, box.width) + 2 * distance;
  const height = Math.max(8, box.height) + 2 * distance;
  const radius = cornerRadius(boxKind(frame, entity), box.height, scene.zoom) + distance;
  context.beginPath();
  context.roundRect(box.x - distance, box.y - distance, size, height, Math.min(height / 2, radius));
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

/** Markers of outlined entities again, so that no line crosses them. */
function drawMarkersAgain(frame: Frame, { selected, hovered, neighbours, hits, currentHit, marks, traced }: Highlights): void {
  const single = new Set([selected, hovered, currentHit, ...neighbours.map(({ entity }) => entity)]);
  const outlined = new BoxList();
  const { nodeCount } = frame.drawing.tree;
  for (let depth = 0; depth < frame.scene.depth; depth++) {
    const { entity, x, y, width, height, alpha, count } = frame.scene.level(depth).boxes;
    for (let i = 0; i < count; i++) {
      const at = entity[i]!;
      if (frame.colouring.health[at]! < INF) continue;
      const marked = [hits, marks, traced].some((each) => each && (at < nodeCount ? each.nodes[at] : each.inScope[at - nodeCount]));
      if (marked || single.has(at)) outlined.push(at, x[i]!, y[i]!, width[i]!, height[i]!, alpha[i]!);
    }
  }
  drawMarkers(frame, outlined);
}

/** The links of the selection where they cross boxes. Must come first, because the boxes are cleared. */
function drawLinksBehind(frame: Frame, camera: Camera, { selected, neighbours }: Highlights): void {
  const linker = new Linker(frame, camera, selected, neighbours.length);
  for (const links of linksOf(frame, linker, neighbours)) strokeLinks(frame, camera, linker, links, false);
  for (const { boxes } of frame.scene.levels.slice(0, frame.scene.depth))
    for (let i = 0; i < boxes.count; i++) frame.context.clearRect(boxes.x[i]!, boxes.y[i]!, boxes.width[i]!, boxes.height[i]!);
}

function drawSelection(frame: Frame, camera: Camera, { selected, neighbours }: Highlights): void {
  const { context, theme } = frame;
  const linker = new Linker(frame, camera, selected, neighbours.length);
  for (const links of linksOf(frame, linker, neighbours)) {
    strokeLinks(frame, camera, linker, links, true);
    context.beginPath();
    for (const link of links.links) linker.traceArrow(link);
    context.fill();
    context.globalAlpha = 1;
  }
  for (const { entity, input } of neighbours) outline(frame, camera, entity, input ? theme.input : theme.output, 1.75, 0);
  outline(frame, camera, selected, theme.selection, 2.5, 2);
}

interface Links {
  readonly links: readonly Link[];
  readonly colour: string;
  readonly dashed: boolean;
}

/** The links of a selection by style. */
function linksOf({ theme }: Frame, linker: Linker, neighbours: readonly Neighbour[]): Links[] {
  return [true, false].flatMap((input) =>
    [false, true].map((dashed) => {
      const alike = neighbours.filter((neighbour) => neighbour.input === input && neighbour.control === dashed);
      return { links: alike.map((neighbour) => linker.link(neighbour)), colour: input ? theme.input : theme.output, dashed };
    }),
  );
}

/** Leaves the context ready to fill their arrows. */
function strokeLinks({ context }: Frame, camera: Camera, linker: Linker, { links, colour, dashed }: Links, clear: boolean): void {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = Math.max(1.6, edgeWidth(1, camera.zoom));
  context.globalAlpha = (links.length > MANY_LINKS ? 0.45 : 0.9) * (clear ? 1 : BEHIND_BOXES);
  context.setLineDash(dashed ? [5, 4] : []);
  context.beginPath();
  for (const link of links) linker.trace(link, clear);
  context.stroke();
  context.setLineDash([]);
  if (!clear) context.globalAlpha = 1;
}

/** Arrows from each entity to the next; a chain may skip uncaptured nodes, so they need not follow edges. */
function drawChain(frame: Frame, camera: Camera, chain: readonly number[], colour: string): void {
  const { context } = frame;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = Math.max(2.5, edgeWidth(1, camera.zoom));
  for (let i = 0; i + 1 < chain.length; i++) {
    const linker = new Linker(frame, camera, chain[i]!, 1);
    const link = linker.link({ entity: chain[i + 1]!, input: false, control: false });
    context.beginPath();
    linker.trace(link, true);
    linker.trace(link, false);
    context.stroke();
    context.beginPath();
    linker.traceArrow(link);
    context.fill();
  }
}

function drawHoveredEdge(frame: Frame, camera: Camera, edge: number): void {
  const { context, theme, drawing } = frame;
  const linker = new Linker(frame, camera, drawing.meta.source[edge]!, 1);
  const link = linker.link({ entity: drawing.meta.target[edge]!, input: false, control: false });
  context.strokeStyle = theme.hover;
  context.fillStyle = theme.hover;
  context.lineWidth = Math.max(2, edgeWidth(1, camera.zoom));
  context.beginPath();
  linker.trace(link, true);
  context.stroke();
  context.beginPath();
  linker.traceArrow(link);
  context.fill();
}

/** Fades everything that is not marked. */
function drawVeil(frame: Frame, marks: Marks): void {
  const { context, scene, theme } = frame;
  context.globalAlpha = VEIL;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, scene.view.width, scene.view.height);
  context.globalAlpha = 1;
  forEachMarked(frame, marks, ({ x, y, width, height }, i) => context.clearRect(x[i]!, y[i]!, width[i]!, height[i]!));
}

/** Calls back with each visible marked box, and collapsed scopes with marked content. */
function forEachMarked({ scene, drawing }: Frame, marks: Marks, visit: (boxes: BoxList, i: number, count: number) => void): void {
  const { nodeCount } = drawing.tree;
  for (let depth = 0; depth < scene.depth; depth++) {
    const { boxes } = scene.level(depth);
    for (let i = 0; i < boxes.count; i++) {
      const entity = boxes.entity[i]!;
      const count = entity < nodeCount ? marks.nodes[entity]! : marks.inScope[entity - nodeCount]!;
      if (count) visit(boxes, i, count);
    }
  }
}

/** Rings around marked nodes; collapsed scopes with some get a ring, and optionally a number. */
function drawRings(frame: Frame, marks: Marks, colour: string, numbers: boolean): void {
  const { context, drawing } = frame;
  const { nodeCount } = drawing.tree;
  const badges: [number, number, number][] = [];
  context.beginPath();
  forEachMarked(frame, marks, (boxes, i, count) => {
    const [width, height] = [Math.max(5, boxes.width[i]!), Math.max(5, boxes.height[i]!)];
    const distance = boxes.width[i]! > 16 ? 2 : 0.5;
    const [x, y] = [boxes.x[i]! - distance, boxes.y[i]! - distance];
    context.roundRect(x, y, width + 2 * distance, height + 2 * distance, Math.min(9, height / 2));
    if (numbers && boxes.entity[i]! >= nodeCount && width > 18) badges.push([count, boxes.x[i]! + width, boxes.y[i]! + height]);
  });
  context.strokeStyle = colour;
  context.lineWidth = 2.25;
  context.stroke();
  for (const [count, x, y] of badges) drawBadge(frame, String(count), x, y, colour);
}

function drawBadge({ context, fitter, scene }: Frame, text: string, right: number, bottom: number, colour: string): void {
  const size = roundSize(Math.min(12, Math.max(9, 10 * scene.zoom)));
  const width = Math.max(size * 1.6, fitter.width(text, size, 600) + 8);
  const height = size * 1.6;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(right - width + 6, bottom - height / 2, width, height, height / 2);
  context.fill();
  context.fillStyle = '#1a1300';
  context.font = fontOf(size, 600);
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, right - width / 2 + 6, bottom + 0.5);
}

/** Text for a screen reader. */
export function describe({ tree, graph }: Frame['drawing'], entity: number): string {
  const label = entityLabel(tree, graph.paths, entity);
  const scope = entity - tree.nodeCount;
  if (scope >= 0) return `${tree.blockGroups.has(scope) ? 'stack' : 'scope'} ${label}, ${tree.nodesIn[scope]} nodes`;
  const parts = [label, graph.opTypes.at(entity), graph.shapes.at(entity)].filter(Boolean);
  return parts.join(', ');
}
