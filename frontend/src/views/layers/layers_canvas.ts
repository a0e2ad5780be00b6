/** The canvas of the layer view: camera, hit testing, targets of arrow keys. */

import { type CardPicture, FRAME_TITLE, type PlacedCard, placeCards } from '../../layout/card_layout';
import { FOLDING } from '../../layout/layered/layered_input';
import type { Level } from '../../model/layers/folding';
import { type Camera, fitRect, type Rect, toGraphX, toGraphY, toScreenX, toScreenY } from '../../render/camera';
import { type CardData, cardSize, paintCards } from '../../render/draw/draw_cards';
import { SvgContext } from '../../render/picture/svg_context';
import { TextFitter } from '../../render/text';
import { FONT, type ThemeName, themeOf } from '../../render/theme';
import { canvasOf, fontsOf, measuring } from '../graph/canvas/picture_export';
import { Viewport } from '../graph/canvas/viewport';

const EMPTY: CardPicture = { width: 0, height: 0, cards: [], frames: [], edges: [] };
const CLICK_SLOP = 4;
const WHEEL_STEP = 0.0016;
const PINCH_STEP = 0.012;
/** The sign that expands and collapses is in a square of this size at the upper left. */
const SIGN = 30;
/** Zoom limits: titles are readable from the first; below the second, other text has less than 9.5 pixels; the third is comfortable. */
const OVERVIEW = 0.14;
const LEGIBLE = 0.7;
const READABLE = 0.84;
/** On a telephone a chain longer than the view at this zoom is cut into columns. */
const PHONE = 0.4;
/** Layers that do not fit are folded if they are this much steeper than the view. */
const STEEP = 1.8;
const TOOLS = 58;
/** Around a saved picture, and how many pixels it has at most on a side. */
const MARGIN = 16;
const MOST_PIXELS = 8192;
/** Width of the model facts and the legend on the left. */
const FACTS = 236;
/** In a view no wider than this, layers begin below the facts, which have this height. */
const NARROW = 720;
const FACTS_HEIGHT = 122;
/** In a view narrower than this, cards stand between the model's name and the legend's title. */
const COLUMNS = 480;
const NAME_HEIGHT = 60;
const LEGEND_TITLE = 42;
const LEGEND_HEIGHT = 120;
const LEGEND_LINE = 50;
const EDGE = 20;

/** Events of the canvas, for the page. */
export interface LayersEvents {
  select(key: string | null): void;
  /** A double click or Enter. */
  enter(key: string): void;
  toggle(key: string): void;
  hover(card: PlacedCard | null, x: number, y: number): void;
}

export type Direction = 'up' | 'down' | 'left' | 'right';

export class LayersCanvas {
  readonly viewport = new Viewport(
    () => this.request(),
    () => this.bounds,
  );
  picture = EMPTY;
  selected: string | null = null;
  private hovered: string | null = null;
  private data: CardData | null = null;
  private theme: ThemeName = 'light';
  private level: Level | null = null;
  private bare = false;
  private requested = 0;
  private fitted = false;
  /** The initial camera, before the user moves it. */
  private looked: Camera | null = null;
  private readonly context: CanvasRenderingContext2D;
  private readonly fitter: TextFitter;
  private readonly observer: ResizeObserver;
  private readonly ended = new AbortController();
  private readonly presses = new Map<number, { x: number; y: number; moved: boolean }>();

  constructor(
    private readonly surface: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly events: LayersEvents,
  ) {
    const context = canvas.getContext('2d', { alpha: false });
    if (!context) throw new Error('this browser has no 2D canvas; the layers cannot be drawn');
    this.context = context;
    this.fitter = new TextFitter(context);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    void document.fonts.ready.then(() => {
      this.fitter.forget();
      this.request();
    });
    this.listen();
    this.resize();
  }

  close(): void {
    this.observer.disconnect();
    this.ended.abort();
    cancelAnimationFrame(this.requested);
  }

  get busy(): boolean {
    return this.viewport.flying || this.requested !== 0;
  }

  /** Shows other cards; the selection stays in place on the screen. */
  setLevel(level: Level | null, bare: boolean): void {
    if (level === this.level && bare === this.bare) return;
    const held = this.held();
    // Cards grow when the statistics of a step arrive.
    const resized = bare !== this.bare && this.unmoved;
    this.level = level;
    this.bare = bare;
    this.place();
    const again = held && this.find(held.key);
    if (again) {
      const { camera, view } = this.viewport;
      this.viewport.pan(held.x - toScreenX(camera, view, again.x), held.y - toScreenY(camera, view, again.y));
    } else if (!this.fitted || resized) this.look();
    this.request();
  }

  /** Long chains are cut into columns that fit the view. */
  private place(): void {
    const { level, bare } = this;
    const { width, height } = this.viewport.view;
    const proportion = height / Math.max(1, width - this.facts);
    const steep = STEEP * proportion;
    const tall = height / (width < COLUMNS ? PHONE : LEGIBLE);
    const folding = width > 0 ? { tall, steep, steepest: steep, proportion: Math.min(1, proportion) } : FOLDING;
    this.picture = level ? placeCards(level, (item) => cardSize(item, bare), folding) : EMPTY;
  }

  /** Width covered on the view's left side. */
  private get facts(): number {
    return this.viewport.view.width > NARROW ? FACTS : 0;
  }

  /** Another graph is shown as a whole. */
  forget(): void {
    this.fitted = false;
    this.level = null;
    this.picture = EMPTY;
    this.request();
  }

  setData(data: CardData, theme: ThemeName, selected: string | null): void {
    const moved = selected !== this.selected;
    [this.data, this.theme, this.selected] = [data, theme, selected];
    const card = moved && selected !== null ? this.find(selected) : undefined;
    if (card && !this.viewport.shows(card)) this.viewport.centreOn(card);
    this.request();
  }

  fit(): void {
    if (this.picture.width > 0) this.viewport.flyTo(this.whole());
  }

  /** Everything, right of the facts and the legend if they would cover it and there is room. */
  private whole(): Camera {
    const { view } = this.viewport;
    if (view.width < COLUMNS) return this.between(NAME_HEIGHT, LEGEND_TITLE, EDGE / 2);
    const fits = (width: number, height: number): Camera => {
      const camera = fitRect(this.bounds, { width, height });
      return { ...camera, zoom: Math.min(1, camera.zoom) };
    };
    const camera = fits(view.width, view.height);
    const isBeside = toScreenX(camera, view, 0) >= FACTS;
    const beside = isBeside ? camera : fits(view.width - FACTS, view.height);
    if (isBeside || beside.zoom >= LEGIBLE) return isBeside ? camera : { ...beside, x: beside.x - FACTS / 2 / beside.zoom };
    const between = this.between(FACTS_HEIGHT, this.facts > 0 ? LEGEND_HEIGHT : LEGEND_LINE, EDGE);
    return this.facts > 0 && between.zoom < beside.zoom ? { ...beside, x: beside.x - FACTS / 2 / beside.zoom } : between;
  }

  /** The whole picture, below and above what covers that much of the view. */
  private between(above: number, below: number, margin: number): Camera {
    const { width, height } = this.viewport.view;
    const { x, y, zoom } = fitRect(this.bounds, { width, height: height - below }, margin, above);
    return { x, y: y + below / 2 / zoom, zoom: Math.min(1, zoom) };
  }

  /** Position of a card on the page; null if it is not drawn. */
  boxOf(key: string): Rect | null {
    const card = this.find(key);
    if (!card) return null;
    const { camera, view } = this.viewport;
    const frame = this.canvas.getBoundingClientRect();
    return {
      x: frame.left + toScreenX(camera, view, card.x),
      y: frame.top + toScreenY(camera, view, card.y),
      width: card.width * camera.zoom,
      height: card.height * camera.zoom,
    };
  }

  /** The card that an arrow key leads to from the selected one: along edges, else the nearest on that side. */
  next(direction: Direction): string | null {
    const from = this.selected === null ? undefined : this.find(this.selected);
    if (!from) return this.picture.cards[0]?.item.key ?? null;
    const along = this.along(from, direction);
    const others = along.length > 0 ? along : this.picture.cards.filter((card) => card !== from && liesTo(from, card, direction));
    return nearest(from, others, direction)?.item.key ?? null;
  }

  private along({ item }: PlacedCard, direction: Direction): PlacedCard[] {
    const { edges } = this.picture;
    const keys = direction === 'down' ? edges.filter(({ from }) => from === item.key).map(({ to }) => to) : [];
    if (direction === 'up') keys.push(...edges.filter(({ to }) => to === item.key).map(({ from }) => from));
    return keys.map((key) => this.find(key)).filter((card) => card !== undefined);
  }

  /** Everything as a file, at twice the initial resolution. */
  async file(format: 'png' | 'svg', title: string): Promise<Blob> {
    const { data, selected, picture } = this;
    if (!data || picture.cards.length === 0) throw new Error('Layers are still loading. Try again.');
    const { width, height } = picture;
    // In the middle and at its own size: an SVG needs no transformation then.
    const camera = { x: width / 2, y: height / 2, zoom: 1 };
    const frame = { picture, camera, theme: themeOf(this.theme), data, selected, hovered: null, neighbours: this.neighbours() };
    if (format === 'svg') {
      const svg = new SvgContext(fontsOf(measuring()));
      const context = Object.assign(svg, { setTransform: () => undefined });
      paintCards({ ...frame, view: { width, height }, context, ratio: 1, fitter: this.fitter });
      return new Blob(svg.finish({ width, height, family: FONT, title }), { type: 'image/svg+xml' });
    }
    const view = { width: width + 2 * MARGIN, height: height + 2 * MARGIN };
    const ratio = Math.min(2, MOST_PIXELS / Math.max(view.width, view.height));
    const { canvas, context } = canvasOf(Math.round(view.width * ratio), Math.round(view.height * ratio));
    paintCards({ ...frame, view, context, ratio, fitter: new TextFitter(context) });
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
    if (!blob) throw new Error('This browser cannot export an image of this size. Use SVG.');
    return blob;
  }

  private find(key: string): PlacedCard | undefined {
    const { cards, frames } = this.picture;
    return cards.find(({ item }) => item.key === key) ?? frames.find(({ item }) => item.key === key);
  }

  private get bounds(): Rect {
    return { x: 0, y: 0, width: this.picture.width, height: this.picture.height };
  }

  /** Everything, or, if that would be unreadable, its beginning. */
  private look(): void {
    if (this.viewport.view.width === 0 || this.picture.width === 0) return;
    this.fitted = true;
    this.viewport.jump(this.firstCamera());
    this.looked = this.viewport.camera;
  }

  private firstCamera(): Camera {
    const { view } = this.viewport;
    const whole = this.whole();
    if (whole.zoom >= OVERVIEW) return whole;
    const { facts } = this;
    const beside = view.width - facts;
    const zoom = Math.min(READABLE, Math.max(LEGIBLE, (beside - 60) / this.picture.width));
    const first = this.picture.cards[0]!;
    const begin = first.x + first.width / 2;
    if (view.width < COLUMNS) return { x: begin, y: (view.height / 2 - NAME_HEIGHT) / zoom, zoom };
    const middle = this.picture.width * zoom < beside ? this.picture.width / 2 : Math.max(begin, (beside / 2 - EDGE) / zoom);
    return { x: middle - facts / 2 / zoom, y: (view.height / 2 - (facts ? TOOLS : FACTS_HEIGHT)) / zoom, zoom };
  }

  private get unmoved(): boolean {
    return this.viewport.camera === this.looked;
  }

  private held(): { key: string; x: number; y: number } | null {
    const card = this.selected === null ? undefined : this.find(this.selected);
    const { camera, view } = this.viewport;
    return card ? { key: card.item.key, x: toScreenX(camera, view, card.x), y: toScreenY(camera, view, card.y) } : null;
  }

  private request(): void {
    if (!this.requested) this.requested = requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    this.requested = 0;
    this.viewport.advance(now);
    const { camera, view } = this.viewport;
    const theme = themeOf(this.theme);
    const ratio = window.devicePixelRatio || 1;
    if (!this.data || view.width === 0) return;
    const { picture, data, selected, hovered, context, fitter } = this;
    paintCards({ context, picture, camera, view, ratio, theme, fitter, data, selected, hovered, neighbours: this.neighbours() });
  }

  private neighbours(): ReadonlySet<string> {
    const found = new Set<string>();
    if (this.selected === null) return found;
    for (const { from, to } of this.picture.edges) {
      if (from === this.selected) found.add(to);
      if (to === this.selected) found.add(from);
    }
    return found;
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.viewport.resize({ width, height });
    // Until the user moves it, the picture adapts to bars and panels, which appear after the first frame.
    if (!this.fitted || this.unmoved) {
      this.place();
      this.look();
    }
    this.frame(performance.now());
  }

  private listen(): void {
    const { surface } = this;
    const options = { signal: this.ended.signal };
    surface.addEventListener('pointerdown', (event) => this.down(event), options);
    surface.addEventListener('pointermove', (event) => this.move(event), options);
    surface.addEventListener('pointerup', (event) => this.up(event), options);
    surface.addEventListener('pointercancel', (event) => this.presses.delete(event.pointerId), options);
    surface.addEventListener('pointerleave', () => this.hover(undefined, 0, 0), options);
    surface.addEventListener('dblclick', (event) => this.doubleClick(event), options);
    surface.addEventListener('wheel', (event) => this.wheel(event), { ...options, passive: false });
  }

  private position(event: MouseEvent): [number, number] {
    const box = this.surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private cardAt(event: MouseEvent): { card: PlacedCard; onSign: boolean } | null {
    const [screenX, screenY] = this.position(event);
    const { camera, view } = this.viewport;
    const [x, y] = [toGraphX(camera, view, screenX), toGraphY(camera, view, screenY)];
    const holds = (card: PlacedCard): boolean => x >= card.x && x <= card.x + card.width && y >= card.y && y <= card.y + card.height;
    const card = this.picture.cards.find(holds) ?? this.picture.frames.findLast((frame) => holds(frame) && y <= frame.y + FRAME_TITLE);
    if (!card) return null;
    return { card, onSign: card.item.toggle !== '' && card.item.kind === 'block' && x - card.x < SIGN && y - card.y < SIGN };
  }

  private hover(card: PlacedCard | undefined, x: number, y: number): void {
    const key = card?.item.key ?? null;
    if (key !== this.hovered) this.request();
    this.hovered = key;
    this.surface.classList.toggle('graph-over', key !== null);
    this.events.hover(card ?? null, x, y);
  }

  private down(event: PointerEvent): void {
    if (event.button > 1) return;
    this.surface.setPointerCapture(event.pointerId);
    this.presses.set(event.pointerId, { x: event.clientX, y: event.clientY, moved: false });
  }

  private move(event: PointerEvent): void {
    const press = this.presses.get(event.pointerId);
    if (!press) {
      if (event.pointerType !== 'touch') this.hover(this.cardAt(event)?.card, ...this.position(event));
      return;
    }
    const [dx, dy] = [event.clientX - press.x, event.clientY - press.y];
    if (!press.moved && Math.hypot(dx, dy) < CLICK_SLOP) return;
    if (!press.moved) this.hover(undefined, 0, 0);
    press.moved = true;
    this.surface.classList.add('graph-dragging');
    this.viewport.pan(dx / this.presses.size, dy / this.presses.size);
    press.x = event.clientX;
    press.y = event.clientY;
  }

  private up(event: PointerEvent): void {
    const press = this.presses.get(event.pointerId);
    this.presses.delete(event.pointerId);
    this.surface.classList.remove('graph-dragging');
    if (!press || press.moved || event.button !== 0) return;
    const hit = this.cardAt(event);
    if (hit?.onSign) this.events.toggle(hit.card.item.key);
    else this.events.select(hit?.card.item.key ?? null);
  }

  private doubleClick(event: MouseEvent): void {
    const hit = this.cardAt(event);
    if (hit && !hit.onSign) this.events.enter(hit.card.item.key);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    this.hover(undefined, 0, 0);
    if (event.shiftKey) this.viewport.pan(-(dx || dy), 0);
    else if (dx !== 0 && !event.ctrlKey) this.viewport.pan(-dx, -dy);
    else this.viewport.zoom(Math.exp(-dy * (event.ctrlKey ? PINCH_STEP : WHEEL_STEP)), ...this.position(event));
  }
}

const middle = ({ x, y, width, height }: PlacedCard): [number, number] => [x + width / 2, y + height / 2];

function liesTo(from: PlacedCard, to: PlacedCard, direction: Direction): boolean {
  const [[ax, ay], [bx, by]] = [middle(from), middle(to)];
  if (direction === 'up') return by < ay - 4;
  if (direction === 'down') return by > ay + 4;
  return direction === 'left' ? bx < ax - 4 : bx > ax + 4;
}

/** The closest card; sideways distance counts twice. */
function nearest(from: PlacedCard, cards: readonly PlacedCard[], direction: Direction): PlacedCard | undefined {
  const upright = direction === 'up' || direction === 'down';
  const [ax, ay] = middle(from);
  const distance = (card: PlacedCard): number => {
    const [x, y] = middle(card);
    return Math.abs(x - ax) * (upright ? 2 : 1) + Math.abs(y - ay) * (upright ? 1 : 2);
  };
  return cards.reduce<PlacedCard | undefined>((best, card) => (best && distance(best) <= distance(card) ? best : card), undefined);
}
