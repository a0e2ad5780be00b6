/** Position of the camera, and its animations. */

import {
  between,
  type Camera,
  centreOn,
  easeOut,
  fitRect,
  panBy,
  type Rect,
  toScreenX,
  toScreenY,
  type View,
  zoomAround,
  zoomAt,
} from '../../../render/camera';

const FLIGHT_MS = 220;
/** Nodes' labels are as large as 10 pixels from this zoom on. */
const READABLE = 0.84;
/** They may be this small for the whole width of a scope to be visible. */
const LEAST_READABLE = 0.7;
/** Room for the search box and the toolbar. */
const TOOLS = 58;
const NARROW = 480;
/** Room for the legend and the minimap, in the lower corners. */
const LEGENDS = 145;
const CORNER = 200;
const SIDES = 24;
const LEGIBLE = 0.3;
/** Zooming out ends where everything has this share of the view. */
const SMALLEST = 1 / 8;

interface Flight {
  readonly from: Camera;
  readonly to: Camera;
  readonly start: number;
}

export class Viewport {
  camera: Camera = { x: 0, y: 0, zoom: 1 };
  view: View = { width: 0, height: 0 };
  private flight: Flight | undefined;

  /** `all`: what there is to see; null if nothing. */
  constructor(
    readonly changed: () => void,
    private readonly all: () => Rect | null,
  ) {}

  get flying(): boolean {
    return this.flight !== undefined;
  }

  /** Target of the camera, or its position. */
  get goal(): Camera {
    return this.flight?.to ?? this.camera;
  }

  jump(camera: Camera): void {
    this.flight = undefined;
    this.camera = camera;
    this.changed();
  }

  flyTo(to: Camera): void {
    if (prefersStillness()) {
      this.jump(to);
      return;
    }
    this.flight = { from: this.camera, to, start: performance.now() };
    this.changed();
  }

  /** Advances the animation; must be called once per frame. */
  advance(now: number): void {
    if (!this.flight) return;
    const { from, to, start } = this.flight;
    const t = Math.min(1, Math.max(0, (now - start) / FLIGHT_MS));
    this.camera = between(from, to, easeOut(t));
    if (t >= 1) {
      this.camera = to;
      this.flight = undefined;
    }
    this.changed();
  }

  pan(screenDx: number, screenDy: number): void {
    this.jump(panBy(this.camera, screenDx, screenDy));
  }

  zoom(factor: number, screenX = this.view.width / 2, screenY = this.view.height / 2): void {
    this.jump(zoomAt(this.camera, this.view, screenX, screenY, this.limited(factor, this.camera)));
  }

  zoomSmoothly(factor: number, around: Rect | null): void {
    this.flyTo(zoomAround(this.goal, this.view, around, this.limited(factor, this.goal)));
  }

  private limited(factor: number, { zoom }: Camera): number {
    const all = this.all();
    return all === null || factor >= 1 ? factor : Math.min(1, Math.max(factor, (SMALLEST * fitRect(all, this.view).zoom) / zoom));
  }

  fit(rect: Rect, smoothly: boolean): void {
    const to = this.whole(rect);
    if (smoothly) this.flyTo(to);
    else this.jump(to);
  }

  /** The camera that shows a whole rectangle as large as possible, clear of the legend and the minimap. */
  private whole(rect: Rect): Camera {
    const { width, height } = this.view;
    const plain = fitRect(rect, this.view);
    const [half, bottom] = [(rect.width / 2) * plain.zoom, toScreenY(plain, this.view, rect.y + rect.height)];
    if (bottom <= height - LEGENDS || half <= width / 2 - CORNER) return plain;
    const below = LEGENDS - SIDES;
    const above = fitRect(rect, { width, height: height - below });
    const between = fitRect(rect, { width: width - 2 * CORNER, height });
    return above.zoom > between.zoom ? { ...above, y: above.y + below / 2 / above.zoom } : between;
  }

  /**
   * Fits everything, or, if that would be unreadable, `focus` with as many of `boxes` as possible; of a large focus as much from its top,
   * or from `first` in it, as is readable.
   */
  look(all: Rect, focus: Rect, first: Rect | null, boxes: readonly Rect[]): void {
    const { width, height } = this.view;
    const whole = this.whole(all);
    if (whole.zoom >= READABLE || width === 0) {
      this.jump(whole);
      return;
    }
    const across = (width - SIDES) / focus.width;
    const zoom = across < LEAST_READABLE ? READABLE : Math.min(READABLE, across);
    const half = width / 2 / zoom;
    const y = Math.min(focus.y + focus.height / 2, focus.y + (height / 2 - TOOLS) / zoom);
    if (first !== null && focus.width > 2 * half) {
      this.jump({ x: Math.max(first.x + first.width / 2, focus.x + half - SIDES), y, zoom });
      return;
    }
    const middle = focus.x + focus.width / 2;
    const room = half - SIDES / 2 / zoom - focus.width / 2;
    const ways = [middle, middle - room, middle + room].map((x): Camera => ({ x, y, zoom }));
    const part = this.whole(focus);
    if (part.zoom >= READABLE) ways.unshift({ ...part, zoom: Math.min(1, part.zoom) });
    const seen = ways.map((camera) => boxes.filter((box) => this.holds(camera, box)).length);
    this.jump(ways[seen.indexOf(Math.max(...seen))]!);
  }

  /** Whether a camera shows a whole rectangle. */
  private holds(camera: Camera, rect: Rect): boolean {
    const { width, height } = this.view;
    const [left, top] = [toScreenX(camera, this.view, rect.x), toScreenY(camera, this.view, rect.y)];
    return left >= 0 && top >= 0 && left + rect.width * camera.zoom <= width && top + rect.height * camera.zoom <= height;
  }

  centreOn(rect: Rect): void {
    this.flyTo(centreOn(rect, this.view, this.camera));
  }

  /** Shows a whole rectangle left of a card at the right edge; false if it would be too small. */
  bring(rect: Rect, card: number): boolean {
    if (this.shows(rect, card)) return true;
    const { goal, view } = this;
    const below = LEGENDS - SIDES;
    const fit = fitRect(rect, { width: view.width - card, height: view.height - below });
    if (fit.zoom <= LEGIBLE) return false;
    const zoom = Math.min(fit.zoom, Math.max(goal.zoom, READABLE));
    this.flyTo({ x: rect.x + (rect.width + card / zoom) / 2, y: rect.y + (rect.height + (below - TOOLS + SIDES) / zoom) / 2, zoom });
    return true;
  }

  /** Whether a rectangle of the graph is visible, clear of overlays, and large enough to read. */
  shows(rect: Rect, card = 0): boolean {
    const { camera, view } = this;
    const [left, top] = [toScreenX(camera, view, rect.x), toScreenY(camera, view, rect.y)];
    const [right, bottom] = [left + rect.width * camera.zoom, top + rect.height * camera.zoom];
    const inside = left >= SIDES && top >= TOOLS && right <= view.width - card - SIDES && bottom <= view.height - LEGENDS;
    return inside && camera.zoom > LEGIBLE;
  }

  /** Keeps the centre of the view. */
  resize(view: View): void {
    this.view = view;
    this.changed();
  }
}

export function prefersStillness(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** Height of the tools above the view: in a narrow view (overlays.css) they take two rows. */
export function covered(view: View): number {
  return view.width <= NARROW ? 92 : 49;
}
