/** Draws edges across the border of a scope: lines from its plugs to entities inside, or stubs if that would tangle. */

import { BRIDGE_IN, BRIDGE_OUT, HUB_IN, HUB_OUT, STUB_IN, STUB_OUT } from '../../layout/scope/bridges';
import { HEADER } from '../../layout/scope/sizes';
import type { BoxList } from '../box_list';
import { arrowHead } from '../edge_paths';
import type { DrawingContext, Frame } from '../frame';

const FROM_ZOOM = 0.22;
const STUB = 11;

export function drawBridges(frame: Frame, scopes: BoxList): void {
  const { context, theme, scene, drawing, motion } = frame;
  if (scene.zoom < FROM_ZOOM) return;
  const { placed, tree } = drawing;
  const box = new Float64Array(4);
  const arrows: number[] = [];
  context.beginPath();
  for (let i = 0; i < scopes.count; i++) {
    const scope = scopes.entity[i]! - tree.nodeCount;
    if (scopes.width[i]! < 44) continue;
    for (let c = tree.childStart[scope]!; c < tree.childStart[scope + 1]!; c++) {
      const child = tree.children[c]!;
      const flags = placed.flags[child]!;
      if (!flags) continue;
      motion.read(placed, child, box);
      const x = scopes.x[i]! + box[0]! * scene.zoom;
      const top = scopes.y[i]! + box[1]! * scene.zoom;
      const [width, bottom] = [box[2]! * scene.zoom, top + box[3]! * scene.zoom];
      if (x + width < 0 || x > scene.view.width || bottom < -200 || top > scene.view.height + 200) continue;
      const middle = x + entryX(frame, child) * scene.zoom;
      if (flags & BRIDGE_IN) {
        fromPlug(
          context,
          scopes.x[i]! + placed.plug[scope]! * scene.zoom,
          scopes.y[i]!,
          scopes.y[i]! + HEADER * scene.zoom,
          middle,
          top,
          scene.zoom,
        );
        arrows.push(middle, top);
      }
      if (flags & BRIDGE_OUT)
        toPlug(context, middle, bottom, scopes.x[i]! + placed.plug[scope]! * scene.zoom, scopes.y[i]! + scopes.height[i]!, scene.zoom);
      if (flags & (STUB_IN | HUB_IN) && !(flags & BRIDGE_IN)) {
        context.moveTo(middle, top - STUB * scene.zoom);
        context.lineTo(middle, top);
        arrows.push(middle, top);
      }
      if (flags & (STUB_OUT | HUB_OUT)) {
        context.moveTo(middle, bottom);
        context.lineTo(middle, bottom + STUB * 0.8 * scene.zoom);
      }
    }
  }
  context.globalAlpha = motion.active ? motion.t : 1;
  context.strokeStyle = theme.bridge;
  context.lineWidth = 1.15 * Math.min(1.2, Math.max(0.6, scene.zoom));
  context.stroke();
  context.fillStyle = theme.bridge;
  context.beginPath();
  for (let k = 0; k < arrows.length; k += 2) arrowHead(context, arrows[k]!, arrows[k + 1]!, 0, 1, Math.max(3.5, 5 * scene.zoom));
  context.fill();
  context.globalAlpha = 1;
}

/** x where edges enter or leave a box, from its left side: the plug of an expanded scope, else the middle. */
export function entryX({ drawing }: Pick<Frame, 'drawing'>, entity: number): number {
  const { placed, tree } = drawing;
  const scope = entity - tree.nodeCount;
  if (scope < 0 || !placed.open[scope]) return placed.width[entity]! / 2;
  return placed.plug[scope]!;
}

function fromPlug(context: DrawingContext, x: number, top: number, below: number, toX: number, toY: number, zoom: number): void {
  const land = Math.min(toY, below + 34 * zoom);
  context.moveTo(x, top);
  context.lineTo(x, below);
  context.bezierCurveTo(x, (below + land) / 2, toX, (below + land) / 2, toX, land);
  context.lineTo(toX, toY);
}

function toPlug(context: DrawingContext, fromX: number, fromY: number, x: number, bottom: number, zoom: number): void {
  const leave = Math.max(fromY, bottom - 34 * zoom);
  context.moveTo(fromX, fromY);
  context.lineTo(fromX, leave);
  context.bezierCurveTo(fromX, (leave + bottom) / 2, x, (leave + bottom) / 2, x, bottom);
}
