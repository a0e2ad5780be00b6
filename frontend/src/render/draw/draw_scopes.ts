/** Bodies of open scopes, their borders, and the blocks of twins in them. */

import { mixColours } from '../../lib/colours';
import { INF, NAN } from '../../model/graph/node_values';
import type { BoxList } from '../box_list';
import type { DrawingContext, Frame } from '../frame';

/** Corners are round if large enough to see. */
const ROUND_FROM = 46;
const RADIUS = 9;
const LEAST_BORDERED = 14;

export function drawScopeBodies(frame: Frame, scopes: BoxList, depth: number): void {
  const { context, theme, scene } = frame;
  if (depth === 0) return;
  const radius = RADIUS * Math.min(1, scene.zoom * 1.4);
  context.fillStyle = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
  for (let i = 0; i < scopes.count; i++) {
    if (isRound(scopes, i)) {
      context.beginPath();
      addScope(context, scopes, i, radius, 0);
      context.fill();
    } else context.fillRect(scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!);
  }
  strokeBorders(frame, scopes, radius);
}

/** Plain borders in one go; those of scopes with NaN or Inf in their colours. */
function strokeBorders({ context, theme, colouring }: Frame, scopes: BoxList, radius: number): void {
  for (const [state, colour] of [
    [-1, theme.scopeBorder],
    [INF, mixColours(theme.inf.border, theme.scopeBorder, 0.35)],
    [NAN, mixColours(theme.nan.border, theme.scopeBorder, 0.35)],
  ] as const) {
    context.beginPath();
    let any = false;
    for (let i = 0; i < scopes.count; i++) {
      const health = colouring.health[scopes.entity[i]!]!;
      if ((state === -1) !== health < INF || (state !== -1 && health !== state) || scopes.width[i]! < LEAST_BORDERED) continue;
      addScope(context, scopes, i, radius, 0.5);
      any = true;
    }
    if (!any) continue;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.stroke();
  }
}

function isRound({ width, height }: Pick<BoxList, 'width' | 'height'>, i: number): boolean {
  return width[i]! > ROUND_FROM && height[i]! > ROUND_FROM / 2;
}

function addScope(context: DrawingContext, { x, y, width, height }: BoxList, i: number, radius: number, inset: number): void {
  const [left, top] = [Math.round(x[i]!), Math.round(y[i]!)];
  const wide = Math.max(1, Math.round(x[i]! + width[i]!) - left - 2 * inset);
  const high = Math.max(1, Math.round(y[i]! + height[i]!) - top - 2 * inset);
  if (isRound({ width, height }, i)) context.roundRect(left + inset, top + inset, wide, high, radius);
  else context.rect(left + inset, top + inset, wide, high);
}

export function drawBlocks({ context, theme, scene, drawing }: Frame, scopes: BoxList): void {
  const { placed, tree } = drawing;
  context.fillStyle = theme.block;
  context.strokeStyle = theme.scopeBorder;
  context.lineWidth = 0.75;
  context.beginPath();
  for (let i = 0; i < scopes.count; i++) {
    const scope = scopes.entity[i]! - tree.nodeCount;
    const blocks = placed.blocks[scope];
    if (!blocks || scopes.width[i]! < 60) continue;
    const ox = scopes.x[i]! + placed.shift[scope]! * scene.zoom;
    for (let b = 0; b < blocks.length; b += 4) {
      context.roundRect(
        ox + blocks[b]! * scene.zoom,
        scopes.y[i]! + blocks[b + 1]! * scene.zoom,
        blocks[b + 2]! * scene.zoom,
        blocks[b + 3]! * scene.zoom,
        8 * scene.zoom,
      );
    }
  }
  context.fill();
  if (scene.zoom > 0.15) context.stroke();
}
