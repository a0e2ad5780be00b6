/** Titles of open scopes. Far out they keep a readable size, like names on a map, and give way to those of larger scopes. */

import { HEADER, SCOPE_FONT, SUBTITLE_FONT } from '../layout/sizes';
import { visible } from '../lib/visible';
import { scopeSubtitle } from '../model/labels';
import { entityLabel } from '../model/tree';
import type { BoxList } from './box_list';
import { drawTexts, type TextItem } from './draw_labels';
import type { Frame } from './frame';
import { roundSize } from './text';

/** Titles do not shrink below this. */
const LEAST_FONT = 10.5;
/** From this zoom on the title fits into the scope's title bar and cannot cover anything. */
const FITS_FROM = 0.75;
const MARGIN = 10;
const LEAST_WIDTH = 56;
/** From this zoom on there is the sign that closes the scope. */
const SIGN_FROM = 0.45;

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly right: number;
  readonly bottom: number;
}

/** Outermost scopes come first: call once a depth. */
export class TitlePlacer {
  private readonly taken: Placed[] = [];

  constructor(private readonly frame: Frame) {}

  draw(scopes: BoxList, depth: number): void {
    if (depth === 0) return;
    const { theme, scene } = this.frame;
    const items: TextItem[] = [];
    const halo = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
    for (let i = 0; i < scopes.count; i++) this.addTitle(scopes, i, halo, items);
    drawTexts(this.frame, items);
    if (scene.zoom >= SIGN_FROM) drawMinus(this.frame, scopes);
  }

  private addTitle(scopes: BoxList, i: number, halo: string, items: TextItem[]): void {
    const { scene, theme, fitter, drawing } = this.frame;
    const [x, y, width, height] = [scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!];
    const size = Math.max(LEAST_FONT, roundSize(SCOPE_FONT * scene.zoom));
    const bar = Math.max(HEADER * scene.zoom, size + 5);
    if (width < LEAST_WIDTH || height < bar + 8 || y + height < 0) return;
    // The title stays in view while its scope is.
    const left = Math.max(x, Math.min(0, x + width - 160)) + (scene.zoom >= SIGN_FROM ? 28 * scene.zoom : 6);
    const top = Math.max(y, Math.min(0, y + height - bar - 8));
    const room = Math.min(x + width - MARGIN * scene.zoom, scene.view.width) - left;
    const text = fitter.fit(visible(entityLabel(drawing.tree, drawing.graph.paths, scopes.entity[i]!)), size, 600, room);
    if (!text) return;
    const textWidth = fitter.width(text, size, 600);
    const place = { x: left - 3, y: top + 1, right: left + textWidth + 3, bottom: top + bar };
    const floating = scene.zoom < FITS_FROM || top !== y;
    if (floating && this.taken.some((other) => overlap(other, place))) return;
    this.taken.push(place);
    if (floating) backdrop(this.frame.context, place, halo);
    const common = { y: top + bar / 2 + 0.5, align: 'left', alpha: scopes.alpha[i]! / 255, halo } as const;
    items.push({ ...common, text, x: left, size, weight: 600, colour: theme.scopeTitle });
    if (scene.zoom < FITS_FROM) return;
    const small = roundSize(SUBTITLE_FONT * scene.zoom);
    const from = left + textWidth + 9 * scene.zoom;
    const told = visible(scopeSubtitle(drawing.tree, drawing.graph, scopes.entity[i]! - drawing.tree.nodeCount));
    const subtitle = fitter.fit(told, small, 400, left + room - from);
    if (subtitle) items.push({ ...common, text: subtitle, x: from, size: small, weight: 400, colour: theme.edgeLabel });
  }
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
