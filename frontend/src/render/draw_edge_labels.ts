/** What flows along an edge, close up: the tensor's shape, or how many tensors a bundle holds. */

import type { BoxList } from './box_list';
import { forEachRoute } from './draw_edges';
import { drawTexts, type TextItem } from './draw_labels';
import type { Frame } from './frame';
import { roundSize, textScale } from './text';

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
      const y = scopes.y[i]! + routes[at + 1]! * scene.zoom;
      if (x < -100 || y < -30 || x > scene.view.width + 100 || y > scene.view.height) continue;
      const side = right ? 1 : -1;
      const common = { text, size, weight: 400, colour: theme.edgeLabel, alpha: 1, halo } as const;
      items.push({ ...common, x: x + side * 5 * scale, y: y + 9 * scale, align: right ? 'left' : 'right' });
    }
  }
  drawTexts(frame, items);
}

interface Labelled {
  readonly at: number;
  readonly text: string;
  /** On which side of the edges' beginning it stands: not on that where they all turn to. */
  readonly right: boolean;
}

/** Where labels begin: a node's own shape is in its box, so only what comes out of scopes needs one, one a source. */
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
