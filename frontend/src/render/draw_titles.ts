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
/** Those that follow the view do not grow above this. */
const MOST_FOLLOWING = 15;
/** From this zoom on the title fits into the scope's title bar and cannot cover anything. */
const FITS_FROM = 0.75;
/** Those of scopes that begin left of the view begin here, as the search box does. */
const SEEN_FROM = 18;
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

interface Place extends Placed {
  readonly size: number;
  /** Whether it stays in view while its scope is, over what the scope holds. */
  readonly follows: boolean;
  /** Whether it lies in the scope's own title bar, and not over what the scope holds. */
  readonly inBar: boolean;
}

/** Outermost scopes come first: call once a depth. */
export class TitlePlacer {
  private readonly taken: Placed[] = [];

  constructor(private readonly frame: Frame) {}

  draw(scopes: BoxList, depth: number): void {
    if (depth === 0) return;
    const { theme, scene } = this.frame;
    const items: TextItem[] = [];
    const ground = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
    for (let i = 0; i < scopes.count; i++) this.addTitle(scopes, i, ground, items);
    drawTexts(this.frame, items);
    if (scene.zoom >= SIGN_FROM) drawMinus(this.frame, scopes, ground);
  }

  private addTitle(scopes: BoxList, i: number, ground: string, items: TextItem[]): void {
    const { scene, theme, fitter, drawing } = this.frame;
    const place = this.room(scopes, i);
    if (!place) return;
    const { x, size } = place;
    const entity = scopes.entity[i]!;
    const text = fitter.fit(visible(entityLabel(drawing.tree, drawing.graph.paths, entity)), size, 600, place.right - x);
    if (!text) return;
    const textWidth = fitter.width(text, size, 600);
    const taken = this.takePlace({ ...place, right: x + textWidth }, scopes.y[i]! + scopes.height[i]!);
    if (!taken) return;
    const middle = (taken.y + taken.bottom) / 2;
    const common = { y: middle + 0.5, align: 'left', alpha: scopes.alpha[i]! / 255, halo: ground } as const;
    items.push({ ...common, text, x, size, weight: 600, colour: theme.scopeTitle });
    const small = roundSize((size * SUBTITLE_FONT) / SCOPE_FONT);
    const from = x + textWidth + 0.7 * size;
    const told = scene.zoom < FITS_FROM ? '' : scopeSubtitle(drawing.tree, drawing.graph, entity - drawing.tree.nodeCount);
    const end = from + fitter.width(told, small, 400);
    const shown = told !== '' && end <= place.right;
    if (shown) items.push({ ...common, text: told, x: from, size: small, weight: 400, colour: theme.edgeLabel });
    const around = place.follows ? 4 : 2;
    const [top, bottom] = [middle - size / 2 - around, middle + size / 2 + around];
    backdrop(this.frame, { x: x - around - 1, y: top, right: (shown ? end : x + textWidth) + around + 1, bottom }, ground, place.follows);
  }

  /** Where a title may be; null where the scope is too small for one. It stays in view, clear of the tools, while its scope is. */
  private room(scopes: BoxList, i: number): Place | null {
    const { scene, covered } = this.frame;
    const [x, y, width, height] = [scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!];
    const follows = y < covered;
    const natural = Math.max(LEAST_FONT, roundSize(SCOPE_FONT * scene.zoom));
    const size = follows ? Math.min(MOST_FOLLOWING, natural) : natural;
    const bar = follows ? size + 10 : Math.max(HEADER * scene.zoom, size + 5);
    if (width < LEAST_WIDTH || height < bar + 8 || y + height < 0) return null;
    const behindSign = scene.zoom >= SIGN_FROM && !follows;
    const left = Math.max(x + (behindSign ? 28 * scene.zoom : 6), Math.min(SEEN_FROM, x + width - 160));
    const top = follows ? Math.max(y, Math.min(covered, y + height - bar - 8)) : y;
    const right = Math.min(x + width - MARGIN * scene.zoom, scene.view.width);
    return { x: left, y: top, right, bottom: top + bar, size, follows, inBar: !follows && scene.zoom >= FITS_FROM };
  }

  /** Titles of inner scopes that follow the view, too, line up below those of outer ones; others give way to them. */
  private takePlace(place: Place, end: number): Placed | null {
    const height = place.bottom - place.y;
    let taken: Placed = place;
    for (;;) {
      const other = place.inBar ? undefined : this.taken.find((candidate) => overlap(candidate, taken));
      if (!other) break;
      if (place.y !== this.frame.covered || other.bottom + height + 8 > end) return null;
      taken = { ...place, y: other.bottom, bottom: other.bottom + height };
    }
    this.taken.push({ ...taken, x: taken.x - 5, right: taken.right + 5 });
    return taken;
  }
}

function drawMinus({ context, scene, theme }: Frame, scopes: BoxList, ground: string): void {
  const { zoom } = scene;
  context.beginPath();
  for (let i = 0; i < scopes.count; i++) {
    if (scopes.width[i]! < 40) continue;
    const [cx, cy, arm] = [scopes.x[i]! + 16 * zoom, scopes.y[i]! + (HEADER / 2) * zoom, 3.6 * zoom];
    context.roundRect(cx - 7.5 * zoom, cy - 7.5 * zoom, 15 * zoom, 15 * zoom, 4 * zoom);
    context.moveTo(cx - arm, cy);
    context.lineTo(cx + arm, cy);
  }
  context.fillStyle = ground;
  context.fill();
  context.strokeStyle = theme.edgeLabel;
  context.lineWidth = Math.max(0.8, 1.2 * zoom);
  context.stroke();
}

function overlap(a: Placed, b: Placed): boolean {
  return a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;
}

/** What the texts stand on, so that edges in the title bar do not run through the letters; with a border over what the scope holds. */
function backdrop({ context, theme }: Frame, { x, y, right, bottom }: Placed, colour: string, bordered: boolean): void {
  context.globalAlpha = bordered ? 0.95 : 0.88;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, y, right - x, bottom - y, 4);
  context.fill();
  context.globalAlpha = 1;
  if (!bordered) return;
  context.strokeStyle = theme.scopeBorder;
  context.lineWidth = 1;
  context.stroke();
}
