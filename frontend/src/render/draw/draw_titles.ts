/**
 * Titles of expanded scopes. At low zoom they stay readable, like names on a map, and give way to those of larger scopes. If a title bar
 * is out of view, its title sticks to the top: in rows below the tools, outer scopes first.
 */

import { HEADER, SCOPE_FONT, SUBTITLE_FONT } from '../../layout/scope/sizes';
import { scopeSubtitle } from '../../model/graph/labels';
import type { BoxList } from '../box_list';
import type { Area, Frame } from '../frame';
import { roundSize, textScale } from '../text';
import { drawSigns, drawTexts, type Sign, siblingNames, type TextItem, visibleLabel } from './draw_labels';

/** Minimum size of titles. */
const LEAST_FONT = 10.5;
/** Maximum size of sticky titles. */
const MOST_FOLLOWING = 14;
/** Maximum width of sticky titles, and of their rows. */
const MOST_WIDTH = 210;
const MOST_ROWS = 4;
const GAP = 6;
/** From this zoom, the title fits into its bar and covers nothing. */
const FITS_FROM = 0.75;
/** Left edge of sticky titles whose scopes begin further left, like that of the search box. */
const SEEN_FROM = 12;
const MARGIN = 10;
const LEAST_WIDTH = 56;
/** Part of a name that stays visible when its scope leaves to the left. */
const KEPT_NAME = 44;
/** Nodes of at least this height are not covered. */
const LEAST_COVERED = 8;
/** Narrower scopes have no sign either. */
const LEAST_SIGNED = 40;
/** From this zoom, scopes have the sign that collapses them. */
const SIGN_FROM = 0.45;
const SIGN_MIDDLE = 16;
const TEXT_FROM = 28;

/** A sticky title. */
interface Chip extends Area {
  readonly entity: number;
  readonly text: string;
  readonly size: number;
  readonly ground: string;
}

/** Outermost scopes first: call `draw` once per depth, then `drawFollowing`. */
export class TitlePlacer {
  private readonly taken: Area[] = [];
  private readonly chips = new Map<number, Chip>();
  private nodes: readonly Area[] | null = null;

  constructor(private readonly frame: Frame) {}

  draw(scopes: BoxList, depth: number): void {
    if (depth === 0) return;
    const { theme, scene } = this.frame;
    const ground = theme.scopes[Math.min(depth, theme.scopes.length - 1)]!;
    const texts: TextItem[] = [];
    const signs: Sign[] = [];
    for (let i = 0; i < scopes.count; i++) {
      if (scopes.width[i]! < LEAST_SIGNED) continue;
      if (this.follows(scopes, i)) this.addChip(scopes, i, ground);
      else {
        const sign = scene.zoom >= SIGN_FROM ? this.signOf(scopes, i) : null;
        if (sign) signs.push(sign);
        this.addTitle(scopes, i, ground, sign, texts);
      }
    }
    drawSigns(this.frame, signs, ground, theme.edgeLabel, false);
    drawTexts(this.frame, texts);
  }

  /** Sticky titles, above everything else. */
  drawFollowing(): void {
    const { frame, chips } = this;
    const texts: TextItem[] = [];
    for (const chip of chips.values()) {
      const { entity, text, size, ground } = chip;
      backdrop(frame, chip, ground, true);
      const [middle, unit] = [(chip.y + chip.bottom) / 2, size / SCOPE_FONT];
      const signed = frame.scene.zoom >= SIGN_FROM;
      const x = chip.x + (signed ? 24 : 7) * unit;
      const halo = { colour: frame.theme.scopeTitle, align: 'left', alpha: 1 } as const;
      texts.push({ ...halo, text, x, y: middle + 0.5, size, weight: 600 });
      if (signed) drawSigns(frame, [{ x: chip.x + 12.5 * unit, y: middle, size: 0.88 * unit }], ground, frame.theme.edgeLabel, false);
      frame.moved?.push({ ...chip, entity, signRight: signed ? x - 2 : chip.x });
    }
    drawTexts(frame, texts);
  }

  /** Whether the title bar is behind the tools, or behind the title of an outer scope. */
  private follows(scopes: BoxList, i: number): boolean {
    if (scopes.y[i]! < this.frame.covered) return true;
    const chip = this.around(scopes, i);
    return chip !== undefined && scopes.y[i]! < chip.bottom;
  }

  /** The sticky title of the scope around one. */
  private around(scopes: BoxList, i: number): Chip | undefined {
    const { tree } = this.frame.drawing;
    return this.chips.get(tree.nodeCount + tree.parent[scopes.entity[i]!]!);
  }

  private addChip(scopes: BoxList, i: number, ground: string): void {
    const { scene, covered, fitter } = this.frame;
    const [x, y, width, height] = [scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!];
    const size = Math.min(MOST_FOLLOWING, Math.max(LEAST_FONT, roundSize(SCOPE_FONT * scene.zoom)));
    const bar = size + 10;
    // It hides at most a third of its scope's visible part.
    if (width < LEAST_WIDTH || y + height - covered < 3 * bar) return;
    const around = (scene.zoom >= SIGN_FROM ? 32 : 14) * (size / SCOPE_FONT);
    const limit = Math.min(x + width - 4, scene.view.width - 8);
    const inView = Math.max(x + width - 4 - Math.max(x + 4, SEEN_FROM), KEPT_NAME + around);
    const text = this.fit(scopes.entity[i]!, size, Math.min(MOST_WIDTH, width - 8, inView) - around);
    if (!text) return;
    const wide = fitter.width(text, size, 600) + around;
    const left = Math.round(Math.max(x + 4, Math.min(SEEN_FROM, x + width - 4 - wide)));
    const wanted = { x: left, y: covered, right: left + wide, bottom: covered + bar };
    const within = { right: limit, bottom: Math.min(y + height, scene.view.height) - 8, outer: this.around(scopes, i) };
    // If nodes leave no room, a title is dropped, unless its scope continues below the view.
    const filled = y + height >= scene.view.height;
    const place =
      freePlace(wanted, within, [...this.taken, ...this.shownNodes()]) ?? (filled ? freePlace(wanted, within, this.taken) : null);
    if (!place) return;
    this.taken.push(place);
    this.chips.set(scopes.entity[i]!, { ...place, entity: scopes.entity[i]!, text, size, ground });
  }

  /** The nodes and collapsed scopes in the area of sticky titles. */
  private shownNodes(): readonly Area[] {
    if (this.nodes) return this.nodes;
    const { scene, covered } = this.frame;
    const end = covered + MOST_ROWS * (MOST_FOLLOWING + 13);
    const found: Area[] = [];
    for (const { boxes } of scene.levels.slice(0, scene.depth)) {
      for (let i = 0; i < boxes.count; i++) {
        const [x, y, height] = [boxes.x[i]!, boxes.y[i]!, boxes.height[i]!];
        if (height >= LEAST_COVERED && y < end && y + height > covered)
          found.push({ x, y, right: x + boxes.width[i]!, bottom: y + height });
      }
    }
    this.nodes = found;
    return found;
  }

  private addTitle(scopes: BoxList, i: number, ground: string, sign: Sign | null, texts: TextItem[]): void {
    const { scene, theme, fitter, drawing } = this.frame;
    const { zoom } = scene;
    const [x, y, width, height] = [scopes.x[i]!, scopes.y[i]!, scopes.width[i]!, scopes.height[i]!];
    const size = Math.max(LEAST_FONT, roundSize(SCOPE_FONT * textScale(zoom)));
    const bar = Math.max(HEADER * zoom, size + 5);
    if (width < LEAST_WIDTH || height < bar + 8) return;
    const entity = scopes.entity[i]!;
    const kept = x + width - this.keptWidth(entity, size);
    const left = sign ? sign.x + (TEXT_FROM - SIGN_MIDDLE) * textScale(zoom) : Math.max(x + 6, Math.min(SEEN_FROM + 6, kept));
    const limit = Math.min(x + width - MARGIN * zoom, scene.view.width);
    const text = this.fit(entity, size, limit - left);
    if (!text) return;
    const small = roundSize((size * SUBTITLE_FONT) / SCOPE_FONT);
    const from = left + fitter.width(text, size, 600) + 0.7 * size;
    const subtitle = zoom < FITS_FROM ? '' : scopeSubtitle(drawing.tree, drawing.graph, entity - drawing.tree.nodeCount);
    const shown = subtitle !== '' && from + fitter.width(subtitle, small, 400) <= limit;
    const right = shown ? from + fitter.width(subtitle, small, 400) : from - 0.7 * size;
    // If larger than its bar, the title extends upwards, to hide no content of the scope.
    const top = y + Math.min(0, HEADER * zoom - bar);
    const area = { x: left - 5, y: top, right: right + 5, bottom: top + bar };
    if (zoom < FITS_FROM && this.taken.some((other) => overlap(other, area))) return;
    this.taken.push(area);
    const middle = top + bar / 2;
    backdrop(this.frame, { x: left - 3, y: middle - size / 2 - 2, right: right + 3, bottom: middle + size / 2 + 2 }, ground, false);
    const common = { y: middle + 0.5, align: 'left', alpha: scopes.alpha[i]! / 255, halo: ground } as const;
    texts.push({ ...common, text, x: left, size, weight: 600, colour: theme.scopeTitle });
    if (shown) texts.push({ ...common, text: subtitle, x: from, size: small, weight: 400, colour: theme.edgeLabel });
    if (sign && sign.x > x + SIGN_MIDDLE * sign.size + 0.5)
      this.frame.moved?.push({ ...area, x: sign.x - 10 * sign.size, entity, signRight: left - 3 });
  }

  /** The sign stays visible while its scope is. */
  private signOf(scopes: BoxList, i: number): Sign {
    const { zoom } = this.frame.scene;
    const size = textScale(zoom);
    const [x, width] = [scopes.x[i]!, scopes.width[i]!];
    const kept = x + width - this.keptWidth(scopes.entity[i]!, roundSize(SCOPE_FONT * size)) - (TEXT_FROM - SIGN_MIDDLE) * size;
    const seen = Math.max(x + SIGN_MIDDLE * size, Math.min(SEEN_FROM + 8 * size, kept));
    return { x: seen, y: scopes.y[i]! + (HEADER / 2) * zoom, size };
  }

  /** Space for a name at the right end of its title bar. */
  private keptWidth(entity: number, size: number): number {
    return Math.min(KEPT_NAME, this.frame.fitter.width(this.label(entity), size, 600)) + MARGIN * this.frame.scene.zoom + 1;
  }

  private label(entity: number): string {
    return visibleLabel(this.frame.drawing, entity);
  }

  private fit(entity: number, size: number, room: number): string {
    const { fitter, drawing } = this.frame;
    return fitter.fit(this.label(entity), size, 600, room, siblingNames(drawing, entity));
  }
}

/** Beside occupied areas if there is room, else in a row below; never before the title of the outer scope. */
function freePlace(wanted: Area, within: { right: number; bottom: number; outer: Area | undefined }, taken: readonly Area[]): Area | null {
  const [width, height] = [wanted.right - wanted.x, wanted.bottom - wanted.y];
  const { outer } = within;
  for (let row = 0; row < MOST_ROWS; row++) {
    const y = wanted.y + row * (height + 3);
    if (row > 0 && y + height > within.bottom) return null;
    if (outer && y < outer.y) continue;
    const from = outer && y < outer.bottom ? Math.max(wanted.x, outer.right + GAP) : wanted.x;
    for (let x = from; x + width <= Math.max(within.right, wanted.right); ) {
      const place = { x, y, right: x + width, bottom: y + height };
      const other = taken.find((candidate) => overlap(candidate, place));
      if (!other) return place;
      x = other.right + GAP;
    }
  }
  return null;
}

function overlap(a: Area, b: Area): boolean {
  return a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;
}

/** Background of the texts, against edges in the title bar; with a border over content. */
function backdrop({ context, theme }: Frame, { x, y, right, bottom }: Area, colour: string, bordered: boolean): void {
  context.globalAlpha = bordered ? 0.96 : 0.88;
  context.fillStyle = colour;
  context.beginPath();
  const inset = bordered ? 0.5 : 0;
  context.roundRect(x + inset, y + inset, right - x - 2 * inset, bottom - y - 2 * inset, bordered ? 6 : 4);
  context.fill();
  context.globalAlpha = 1;
  if (!bordered) return;
  context.strokeStyle = theme.scopeBorder;
  context.lineWidth = 1;
  context.stroke();
}
