/** Lines from a selected entity to its neighbours: along the edge where both stand in one scope, else straight across borders. */

import type { Neighbour } from '../model/neighbours';
import type { Camera } from './camera';
import { toScreenX, toScreenY } from './camera';
import { entryX } from './draw_bridges';
import { arrowSize, forEachRoute } from './draw_edges';
import type { Frame } from './frame';
import { arrowHead, traceArrow, traceRoute } from './trace';

export interface ScreenBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function screenBox({ drawing, motion, scene }: Frame, camera: Camera, entity: number): ScreenBox {
  const origin = motion.origin(drawing.placed, entity);
  const box = new Float64Array(4);
  motion.read(drawing.placed, entity, box);
  return {
    x: toScreenX(camera, scene.view, origin.x),
    y: toScreenY(camera, scene.view, origin.y),
    width: box[2]! * camera.zoom,
    height: box[3]! * camera.zoom,
  };
}

interface Route {
  readonly at: number;
  readonly points: number;
}

interface Curve {
  readonly fromX: number;
  readonly fromY: number;
  readonly toX: number;
  readonly toY: number;
}

export class Linker {
  private readonly self: ScreenBox;
  private readonly scope: number;
  /** Routes of the scope's edges by `source,target`, of those that touch the selection. */
  private readonly routes = new Map<string, Route>();
  private readonly frameX: number;
  private readonly frameY: number;

  constructor(
    private readonly frame: Frame,
    private readonly camera: Camera,
    private readonly selected: number,
  ) {
    const { tree, meta, placed } = frame.drawing;
    this.self = screenBox(frame, camera, selected);
    this.scope = tree.parent[selected]!;
    const box = this.scope >= 0 ? screenBox(frame, camera, tree.nodeCount + this.scope) : this.self;
    this.frameX = box.x + (placed.shift[this.scope] ?? 0) * camera.zoom;
    this.frameY = box.y;
    if (this.scope < 0 || frame.motion.active) return;
    forEachRoute(frame, this.scope, (m, at, points) => {
      if (meta.source[m] === selected || meta.target[m] === selected)
        this.routes.set(`${meta.source[m]},${meta.target[m]}`, { at, points });
    });
  }

  /** The edge's own route, or a curve from the bottom of what feeds to the top of what is fed. */
  link(neighbour: Neighbour): Route | Curve {
    const [from, to] = neighbour.input ? [neighbour.entity, this.selected] : [this.selected, neighbour.entity];
    const route = this.routes.get(`${from},${to}`);
    if (route) return route;
    const other = screenBox(this.frame, this.camera, neighbour.entity);
    const [source, target] = neighbour.input ? [other, this.self] : [this.self, other];
    return {
      fromX: source.x + entryX(this.frame, from) * this.camera.zoom,
      fromY: source.y + source.height,
      toX: target.x + entryX(this.frame, to) * this.camera.zoom,
      toY: target.y,
    };
  }

  trace(link: Route | Curve): void {
    const { context, drawing } = this.frame;
    if ('at' in link) {
      traceRoute(context, drawing.placed.routes[this.scope]!, link.at, link.points, this.frameX, this.frameY, this.camera.zoom);
      return;
    }
    const { fromX, fromY, toX, toY } = link;
    const dy = toY - fromY;
    // Downwards an S; upwards it leaves and arrives in a bow.
    const reach = dy > 0 ? dy / 2 : Math.min(90, 40 * this.camera.zoom + 14 - dy / 6);
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX, fromY + reach, toX, toY - reach, toX, toY);
  }

  traceArrow(link: Route | Curve): void {
    const { context, drawing } = this.frame;
    const size = Math.max(6, arrowSize(1, this.camera.zoom));
    if ('at' in link)
      traceArrow(context, drawing.placed.routes[this.scope]!, link.at, link.points, this.frameX, this.frameY, this.camera.zoom, size);
    else arrowHead(context, link.toX, link.toY, 0, 1, size);
  }
}
