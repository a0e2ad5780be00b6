/** What flows along an edge, close up: the tensor's shape, or how many tensors a bundle holds. */

import type { BoxList } from './box_list';
import { forEachRoute } from './draw_edges';
import { drawTexts, type TextItem } from './draw_labels';
import type { Frame } from './frame';
import { roundSize } from './text';

const FROM_ZOOM = 0.8;
const FONT = 9;

export function drawEdgeLabels(frame: Frame, scopes: BoxList, depth: number): void {
  const { scene, drawing, theme, motion } = frame;
  if (scene.zoom < FROM_ZOOM || motion.active) return;
  const { tree, placed, meta } = drawing;
  const items: TextItem[] = [];
  const size = roundSize(FONT * scene.zoom);
  const halo = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
  for (let i = 0; i < scopes.count; i++) {
    const scope = scopes.entity[i]! - tree.nodeCount;
    const routes = placed.routes[scope];
    if (!routes) continue;
    const ox = scopes.x[i]! + placed.shift[scope]! * scene.zoom;
    let labelled = -1;
    forEachRoute(frame, scope, (m, at) => {
      // A node's own shape is in its box: only what comes out of scopes needs a label, one a source.
      if (meta.data[m] === 0 || meta.source[m] === labelled) return;
      const text = edgeLabel(frame, m);
      if (!text) return;
      const x = ox + routes[at]! * scene.zoom;
      const y = scopes.y[i]! + routes[at + 1]! * scene.zoom;
      if (x < -100 || y < -30 || x > scene.view.width || y > scene.view.height) return;
      labelled = meta.source[m]!;
      items.push({
        text,
        x: x + 5 * scene.zoom,
        y: y + 9 * scene.zoom,
        size,
        weight: 400,
        colour: theme.edgeLabel,
        align: 'left',
        alpha: 1,
        halo,
      });
    });
  }
  drawTexts(frame, items);
}

function edgeLabel({ drawing }: Frame, m: number): string {
  const { meta, graph, tree } = drawing;
  if (!meta.single[m]) return `×${meta.data[m]}`;
  const edge = meta.edge[m]!;
  if (meta.source[m]! < tree.nodeCount || graph.edges.slot[edge] !== 0) return '';
  return graph.shapes.at(graph.edges.source[edge]!);
}
