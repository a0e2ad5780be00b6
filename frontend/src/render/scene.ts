/**
 * The visible part of the graph: a walk down the scope tree that skips everything outside the view and stops at scopes of a few pixels.
 * So a frame costs as much as it shows, independent of the size of the graph.
 */

import type { PlacedGraph } from '../layout/placed';
import { BoxList } from './box_list';
import { type Camera, toScreenX, toScreenY, type View } from './camera';
import type { Motion } from './motion';

/** Scopes smaller than this many pixels are one rectangle. */
export const LEAST_SCOPE = 10;
/** Boxes narrower than this are not drawn. */
const LEAST_BOX = 1.2;
/** Below this zoom no nodes are drawn: a scope with only nodes would be empty, and is a rectangle instead. */
const LEAST_ZOOM = 0.02;

/** Expanded scopes of one depth, and the nodes and collapsed scopes directly in them. */
interface Level {
  readonly scopes: BoxList;
  readonly boxes: BoxList;
}

export class Scene {
  readonly levels: Level[] = [];
  depth = 0;
  zoom = 1;
  view: View = { width: 0, height: 0 };

  collect(placed: PlacedGraph, motion: Motion, camera: Camera, view: View): void {
    const { tree } = placed;
    for (const level of this.levels) {
      level.scopes.clear();
      level.boxes.clear();
    }
    this.zoom = camera.zoom;
    this.view = view;
    const box = new Float64Array(4);
    const root = tree.nodeCount;
    motion.read(placed, root, box);
    const { zoom } = camera;
    this.level(0).scopes.push(root, toScreenX(camera, view, 0), toScreenY(camera, view, 0), box[2]! * zoom, box[3]! * zoom, 255);
    this.depth = 1;
    for (let depth = 0; depth < this.depth; depth++) this.collectInside(this.level(depth), depth, placed, motion, box);
  }

  level(depth: number): Level {
    let level = this.levels[depth];
    if (!level) {
      level = { scopes: new BoxList(), boxes: new BoxList() };
      this.levels[depth] = level;
    }
    return level;
  }

  private collectInside(level: Level, depth: number, placed: PlacedGraph, motion: Motion, box: Float64Array): void {
    const { tree, open, known } = placed;
    const { scopes, boxes } = level;
    const { zoom, view } = this;
    for (let i = 0; i < scopes.count; i++) {
      const scope = scopes.entity[i]! - tree.nodeCount;
      const appearing = motion.active && motion.appearing.has(scope);
      const alpha = appearing ? Math.round(scopes.alpha[i]! * motion.t * motion.t) : scopes.alpha[i]!;
      const [right, bottom] = [scopes.x[i]! + scopes.width[i]!, scopes.y[i]! + scopes.height[i]!];
      for (let c = tree.childStart[scope]!; c < tree.childStart[scope + 1]!; c++) {
        const child = tree.children[c]!;
        motion.read(placed, child, box);
        const width = box[2]! * zoom;
        if (width < LEAST_BOX) continue;
        const x = scopes.x[i]! + box[0]! * zoom;
        const y = scopes.y[i]! + box[1]! * zoom;
        const height = box[3]! * zoom;
        if (x > view.width || y > view.height || x + width < 0 || y + height < 0) continue;
        // An expanding scope shows what fits in it so far.
        if (appearing && (x + width > right + 1 || y + height > bottom + 1)) continue;
        const inner = child - tree.nodeCount;
        const hollow = zoom < LEAST_ZOOM && tree.subtreeEnd[inner] === inner + 1;
        if (inner >= 0 && open[inner] && known[inner] && width >= LEAST_SCOPE && height >= LEAST_SCOPE && !hollow) {
          this.level(depth + 1).scopes.push(child, x, y, width, height, alpha);
          this.depth = Math.max(this.depth, depth + 2);
        } else boxes.push(child, x, y, width, height, alpha);
      }
    }
  }
}
