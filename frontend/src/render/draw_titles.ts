/** Titles of open scopes. Far out they keep a readable size, like names on a map, and give way to those of larger scopes. */

import { HEADER, SCOPE_FONT } from '../layout/sizes';
import { entityLabel } from '../model/tree';
import type { BoxList } from './box_list';
import { drawTexts, scopeSubtitle } from './draw_labels';
import type { Frame } from './frame';
import { roundSize } from './text';

/** Titles do not shrink below this. */
const LEAST_FONT = 10.5;
/** From this zoom on the title fits into the scope's title bar and cannot cover anything. */
const FITS_FROM = 0.75;
const MARGIN = 10;

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly right: number;
  readonly bottom: number;
}

/** Outermost scopes come first: call with one list for all depths. */
export class TitlePlacer {
  private readonly taken: Placed[] = [];

  draw(frame: Frame, scopes: BoxList, depth: number): void {
    if (depth === 0) return;
    const { scene, theme, fitter, drawing, context } = frame;
    const { tree, graph } = drawing;
    const items: Parameters<typeof drawTexts>[1] = [];
    const size = Math.max(LEAST_FONT, roundSize(SCOPE_FONT * scene.zoom));
    const bar = Math.max(HEADER * scene.zoom, size + 5);
    for (let i = 0; i < scopes.count; i++) {
      const [x, y, width, height] = [scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!];
      if (width < 56 || height < bar + 8 || y + height < 0) continue;
      // The title stays in view while its scope is.
      const left = Math.max(x, Math.min(0, x + width - 160)) + titleIndent(scene.zoom);
      const top = Math.max(y, Math.min(0, y + height - bar - 8));
      const room = Math.min(x + width - MARGIN * scene.zoom, scene.view.width) - left;
      const text = fitter.fit(entityLabel(tree, graph.paths, scopes.entity[i]!), size, 600, room);
      if (!text) continue;
      const textWidth = fitter.width(text, size, 600);
      const place = { x: left - 3, y: top + 1, right: left + textWidth + 3, bottom: top + bar };
      const floating = scene.zoom < FITS_FROM || top !== y;
      if (floating && this.taken.some((other) => overlap(other, place))) continue;
      this.taken.push(place);
      if (floating) backdrop(context, place, theme.scopes[Math.min(depth, theme.scopes.length - 1)]!);
      const alpha = scopes.alpha[i]! / 255;
      items.push({ text, x: left, y: top + bar / 2 + 0.5, size, weight: 600, colour: theme.scopeTitle, align: 'left', alpha });
      const small = roundSize(10 * scene.zoom);
      const rest = room - textWidth - 10 * scene.zoom;
      if (scene.zoom < FITS_FROM || rest < 40) continue;
      const count = fitter.fit(scopeSubtitle(frame, scopes.entity[i]!), small, 400, rest);
      if (count)
        items.push({
          text: count,
          x: left + textWidth + 9 * scene.zoom,
          y: top + bar / 2 + 0.5,
          size: small,
          weight: 400,
          colour: theme.edgeLabel,
          align: 'left',
          alpha,
        });
    }
    drawTexts(frame, items);
    if (scene.zoom >= 0.45) drawMinus(frame, scopes);
  }
}

/** Room for the sign that closes the scope. */
export function titleIndent(zoom: number): number {
  return zoom >= 0.45 ? 28 * zoom : 6;
}

function drawMinus({ context, scene, theme }: Frame, scopes: BoxList): void {
  const { zoom } = scene;
  context.beginPath();
  for (let i = 0; i < scopes.count; i++) {
    if (scopes.width[i]! < 40) continue;
    const [cx, cy, arm] = [scopes.x[i]! + 16 * zoom, scopes.y[i]! + (HEADER / 2) * zoom, 3.6 * zoom];
    context.roundRect(cx - 7.5 * zoom, cy - 7.5 * zoom, 15 * zoom, 15 * zoom, 4 * zoom);
    context.moveTo(cx - arm, cy);
    context.lineTo(cx + arm, cy);
  }
  context.strokeStyle = theme.edgeLabel;
  context.lineWidth = Math.max(0.8, 1.2 * zoom);
  context.stroke();
}

function overlap(a: Placed, b: Placed): boolean {
  return a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;
}

function backdrop(context: CanvasRenderingContext2D, { x, y, right, bottom }: Placed, colour: string): void {
  context.globalAlpha = 0.82;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, y + 1, right - x, bottom - y - 2, 4);
  context.fill();
  context.globalAlpha = 1;
}
