/** Animates boxes between two layouts. */

import type { PlacedGraph } from '../layout/placed';
import { type Camera, toScreenX, toScreenY, type View } from './camera';

export const MOTION_MS = 160;

export class Motion {
  /** 0 at the old layout, 1 at the new one. */
  t = 1;
  private left = new Float32Array(0);
  private top = new Float32Array(0);
  private width = new Float32Array(0);
  private height = new Float32Array(0);
  /** Scopes that have just expanded: their children fade in. */
  readonly appearing = new Set<number>();
  readonly changed = new Set<number>();

  get active(): boolean {
    return this.t < 1;
  }

  /** Must be called before the new layout is applied. */
  start(placed: PlacedGraph): void {
    this.left = placed.left.slice();
    this.top = placed.top.slice();
    this.width = placed.width.slice();
    this.height = placed.height.slice();
    this.appearing.clear();
    this.changed.clear();
    this.t = 0;
  }

  /** The children of these scopes do not move. */
  appear(scopes: Iterable<number>, placed: PlacedGraph): void {
    const { tree } = placed;
    for (const scope of scopes) {
      this.appearing.add(scope);
      for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
        const child = tree.children[i]!;
        this.left[child] = placed.left[child]!;
        this.top[child] = placed.top[child]!;
        this.width[child] = placed.width[child]!;
        this.height[child] = placed.height[child]!;
      }
    }
  }

  finish(): void {
    this.t = 1;
    this.left = this.top = this.width = this.height = new Float32Array(0);
    this.appearing.clear();
    this.changed.clear();
  }

  /** Writes left, top, width, height of an entity as it is now into `box`. */
  read(placed: PlacedGraph, entity: number, box: Float64Array): void {
    const { t } = this;
    if (t >= 1) {
      box[0] = placed.left[entity]!;
      box[1] = placed.top[entity]!;
      box[2] = placed.width[entity]!;
      box[3] = placed.height[entity]!;
      return;
    }
    box[0] = mix(this.left[entity]!, placed.left[entity]!, t);
    box[1] = mix(this.top[entity]!, placed.top[entity]!, t);
    box[2] = mix(this.width[entity]!, placed.width[entity]!, t);
    box[3] = mix(this.height[entity]!, placed.height[entity]!, t);
  }

  /** Current position of an entity in the frame of the whole graph. */
  origin(placed: PlacedGraph, entity: number): { x: number; y: number } {
    const box = new Float64Array(4);
    const { tree } = placed;
    let [x, y] = [0, 0];
    for (let at = entity; at !== tree.nodeCount && at >= 0; ) {
      this.read(placed, at, box);
      x += box[0]!;
      y += box[1]!;
      const parent = tree.parent[at]!;
      at = parent < 0 ? -1 : tree.nodeCount + parent;
    }
    return { x, y };
  }
}

const mix = (a: number, b: number, t: number): number => a + (b - a) * t;

// Keeps the top left corner of an entity in place on the screen while the layout around it changes.

export interface Anchor {
  readonly entity: number;
  readonly screenX: number;
  readonly screenY: number;
}

export function anchorAt(placed: PlacedGraph, motion: Motion, camera: Camera, view: View, entity: number): Anchor {
  const { x, y } = motion.origin(placed, entity);
  return { entity, screenX: toScreenX(camera, view, x), screenY: toScreenY(camera, view, y) };
}

/** The camera that puts the anchor back in place. */
export function heldCamera(anchor: Anchor, placed: PlacedGraph, motion: Motion, camera: Camera, view: View): Camera {
  const { x, y } = motion.origin(placed, anchor.entity);
  return {
    ...camera,
    x: x - (anchor.screenX - view.width / 2) / camera.zoom,
    y: y - (anchor.screenY - view.height / 2) / camera.zoom,
  };
}
