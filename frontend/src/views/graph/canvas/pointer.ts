/** Mouse, pen, touch and trackpad on the graph. */

import { HEADER } from '../../../layout/scope/sizes';
import { toGraphX, toGraphY } from '../../../render/camera';
import type { MovedTitle } from '../../../render/frame';
import { edgeAt, type Hit, hitTest } from '../../../render/hit_test';
import type { Hover } from './graph_events';
import type { GraphView } from './graph_view';

/** A press that moves less than this many pixels is a click. */
const CLICK_SLOP = 4;
const WHEEL_STEP = 0.0016;
const PINCH_STEP = 0.012;
const EDGE_REACH = 6;
const LINE_PIXELS = 16;
/** Width of the sign that expands and collapses a scope, in graph units from the scope's left side. */
const SIGN_WIDTH = 27;

interface Press {
  x: number;
  y: number;
  moved: boolean;
}

export class PointerInput {
  private readonly presses = new Map<number, Press>();
  private readonly ended = new AbortController();

  constructor(
    private readonly model: GraphView,
    private readonly element: HTMLElement,
  ) {
    const options = { signal: this.ended.signal };
    element.addEventListener('pointerdown', (event) => this.down(event), options);
    element.addEventListener('pointermove', (event) => this.move(event), options);
    element.addEventListener('pointerup', (event) => this.up(event), options);
    element.addEventListener('pointercancel', (event) => this.presses.delete(event.pointerId), options);
    element.addEventListener('pointerleave', () => this.model.setHover(null), options);
    element.addEventListener('dblclick', (event) => this.doubleClick(event), options);
    element.addEventListener('contextmenu', (event) => this.openMenu(event), options);
    element.addEventListener('wheel', (event) => this.wheel(event), { ...options, passive: false });
  }

  close(): void {
    this.ended.abort();
  }

  private down(event: PointerEvent): void {
    if (event.button > 1) return;
    this.element.setPointerCapture(event.pointerId);
    this.presses.set(event.pointerId, { x: event.clientX, y: event.clientY, moved: false });
  }

  private move(event: PointerEvent): void {
    const press = this.presses.get(event.pointerId);
    if (!press) {
      if (event.pointerType !== 'touch') this.model.setHover(this.hoverAt(event));
      return;
    }
    const [dx, dy] = [event.clientX - press.x, event.clientY - press.y];
    if (!press.moved && Math.hypot(dx, dy) < CLICK_SLOP) return;
    if (!press.moved) {
      press.moved = true;
      this.element.classList.add('graph-dragging');
      this.model.setHover(null);
    }
    if (this.presses.size === 2) this.pinch(event.pointerId, dx, dy);
    else this.model.viewport.pan(dx, dy);
    press.x = event.clientX;
    press.y = event.clientY;
  }

  /** Two fingers: each move pans by half and zooms by the change of their distance. */
  private pinch(moving: number, dx: number, dy: number): void {
    const [a, b] = [...this.presses.entries()].sort(([id]) => (id === moving ? -1 : 1)).map(([, press]) => press) as [Press, Press];
    const before = Math.hypot(a.x - b.x, a.y - b.y);
    const after = Math.hypot(a.x + dx - b.x, a.y + dy - b.y);
    const box = this.element.getBoundingClientRect();
    this.model.viewport.pan(dx / 2, dy / 2);
    if (before > 0) this.model.viewport.zoom(after / before, (a.x + b.x) / 2 - box.left, (a.y + b.y) / 2 - box.top);
  }

  private up(event: PointerEvent): void {
    const press = this.presses.get(event.pointerId);
    this.presses.delete(event.pointerId);
    this.element.classList.remove('graph-dragging');
    if (!press || press.moved || event.button !== 0) return;
    const [x, y] = this.position(event);
    const hit = this.hit(x, y);
    if (hit && this.onSign(hit, x, y)) this.model.toggle(hit.entity - this.nodeCount);
    else this.model.pick(hit ? hit.entity : -1);
  }

  private doubleClick(event: MouseEvent): void {
    const [x, y] = this.position(event);
    const hit = this.hit(x, y);
    if (hit && hit.entity >= this.nodeCount && !this.onSign(hit, x, y)) this.model.toggle(hit.entity - this.nodeCount);
  }

  /** For the right button, at the pointer; for the keyboard, at the selection. */
  private openMenu(event: MouseEvent): void {
    const { model } = this;
    const [x, y] = this.position(event);
    // Keys report the position of the focused element, or none.
    const byKey = event.button !== 2;
    const entity = byKey ? model.shown(model.selected) : (this.hit(x, y)?.entity ?? -1);
    if (entity < 0) return;
    event.preventDefault();
    model.setHover(null);
    if (!byKey && entity !== model.selected) model.pick(entity);
    const box = byKey ? model.onScreen(entity) : null;
    model.menu.value = { entity, x: box ? box.x + box.width / 2 : x, y: box ? box.y + box.height : y };
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    this.model.setHover(null);
    // A pinch on a trackpad arrives as a wheel with Ctrl; a sideways move can only mean panning.
    if (event.ctrlKey) this.zoomBy(event, Math.exp(-dy * PINCH_STEP));
    else if (event.shiftKey) this.model.viewport.pan(-(dx || dy), 0);
    else if (dx !== 0) this.model.viewport.pan(-dx, -dy);
    else this.zoomBy(event, Math.exp(-dy * WHEEL_STEP));
  }

  private zoomBy(event: MouseEvent, factor: number): void {
    const [x, y] = this.position(event);
    this.model.viewport.zoom(factor, x, y);
  }

  private get nodeCount(): number {
    return this.model.drawing?.tree.nodeCount ?? 0;
  }

  private position(event: MouseEvent): [number, number] {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private hit(x: number, y: number): Hit | null {
    const { drawing, viewport } = this.model;
    const title = this.movedTitle(x, y);
    if (title) return { entity: title.entity, part: 'title' };
    return drawing && hitTest(drawing.placed, viewport.camera, viewport.view, x, y);
  }

  /** The title drawn outside its title bar at a point. */
  private movedTitle(x: number, y: number): MovedTitle | undefined {
    return this.model.moved.findLast((title) => x >= title.x && x <= title.right && y >= title.y && y <= title.bottom);
  }

  private onSign(hit: Hit, x: number, y: number): boolean {
    const { drawing, viewport } = this.model;
    const title = this.movedTitle(x, y);
    if (title) return x <= title.signRight;
    if (!drawing || hit.entity < this.nodeCount || hit.part !== 'title' || viewport.camera.zoom < 0.45) return false;
    const origin = drawing.placed.origin(hit.entity);
    const [gx, gy] = [toGraphX(viewport.camera, viewport.view, x) - origin.x, toGraphY(viewport.camera, viewport.view, y) - origin.y];
    const open = drawing.placed.open[hit.entity - this.nodeCount];
    return gx < SIGN_WIDTH && (!open || gy < HEADER);
  }

  private hoverAt(event: PointerEvent): Hover | null {
    const { drawing, viewport } = this.model;
    const [x, y] = this.position(event);
    const hit = this.hit(x, y);
    this.element.classList.toggle('graph-over', hit !== null && hit.part !== 'body');
    if (!drawing) return null;
    if (hit && hit.part !== 'body') return { entity: hit.entity, edge: -1, x, y };
    const scope = hit ? hit.entity - this.nodeCount : 0;
    const origin = hit ? drawing.placed.origin(hit.entity) : { x: 0, y: 0 };
    const { camera, view } = viewport;
    const edge = edgeAt(
      drawing,
      scope,
      toGraphX(camera, view, x) - origin.x,
      toGraphY(camera, view, y) - origin.y,
      EDGE_REACH / camera.zoom,
    );
    return edge < 0 ? null : { entity: -1, edge, x, y };
  }
}
