import type { Box, GraphProbe } from '../../../lib/probe';
import { INF } from '../../../model/graph/node_values';
import { findScope, scopePath } from '../../../model/graph/tree';
import { rowOf } from '../../../model/wire/graph';
import { toScreenX, toScreenY } from '../../../render/camera';
import type { GraphView } from './graph_view';

/** Implements `window.tensortap` for a graph pane: drawn entities and their positions (a canvas has no DOM). */
export function probeOf(model: GraphView, canvas: HTMLElement): GraphProbe {
  const drawn = (entity: number): boolean => entity >= 0 && model.shown(entity) === entity && inView(boxOf(model, canvas, entity), canvas);
  return {
    node: (name) => {
      const entity = entityOf(model, name);
      return drawn(entity) ? boxOf(model, canvas, entity) : null;
    },
    nodes: () => {
      const tree = model.drawing?.tree;
      if (!tree) return [];
      const entities = Array.from({ length: tree.nodeCount + tree.scopeCount }, (_, entity) => entity);
      return entities.filter((entity) => entity !== tree.nodeCount && drawn(entity)).map((entity) => nameOf(model, entity));
    },
    nodeState: (name) => {
      const entity = entityOf(model, name);
      const colouring = model.colouring.value;
      if (!drawn(entity) || !colouring) return null;
      const style = colouring.styles[colouring.index[entity] ?? 0];
      return {
        selected: model.shown(model.selected) === entity,
        nonfinite: (colouring.health[entity] ?? 0) >= INF,
        color: style?.fill ?? '',
      };
    },
    ready: () => (model.status.value.kind === 'ready' || model.status.value.kind === 'empty') && !model.busy,
  };
}

/** The entity with a node's name or a scope's path; -1 if there is none. */
function entityOf(model: GraphView, name: string): number {
  if (!model.drawing) return -1;
  const { graph, tree } = model.drawing;
  const row = rowOf(graph, name);
  if (row >= 0) return tree.entityOf[row] ?? -1;
  const scope = findScope(tree, graph.paths, name);
  return scope > 0 && scopePath(tree, graph.paths, scope) === name ? tree.nodeCount + scope : -1;
}

function nameOf(model: GraphView, entity: number): string {
  if (!model.drawing) return '';
  const { graph, tree } = model.drawing;
  return entity < tree.nodeCount ? graph.names.at(entity) : scopePath(tree, graph.paths, entity - tree.nodeCount);
}

function boxOf(model: GraphView, canvas: HTMLElement, entity: number): Box | null {
  const rect = model.rect(entity);
  if (!rect) return null;
  const { camera, view } = model.viewport;
  const frame = canvas.getBoundingClientRect();
  return {
    x: frame.left + toScreenX(camera, view, rect.x),
    y: frame.top + toScreenY(camera, view, rect.y),
    width: rect.width * camera.zoom,
    height: rect.height * camera.zoom,
  };
}

function inView(box: Box | null, canvas: HTMLElement): boolean {
  if (!box || box.width === 0) return false;
  const { left, right, top, bottom } = canvas.getBoundingClientRect();
  return box.x < right && box.x + box.width > left && box.y < bottom && box.y + box.height > top;
}
