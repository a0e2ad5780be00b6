/** Lines from a selected entity to its neighbours: along the edge if both are in one scope, else through the borders in between. */

import type { PlacedGraph } from '../layout/placed';
import { BRIDGE_IN, BRIDGE_OUT } from '../layout/scope/bridges';
import type { Neighbour } from '../model/graph/neighbours';
import type { ScopeTree } from '../model/graph/tree';
import { type Camera, toScreenX, toScreenY } from './camera';
import { entryX } from './draw/draw_bridges';
import { arrowSize, forEachRoute } from './draw/draw_edges';
import { arrowHead, traceArrow, traceRoute } from './edge_paths';
import type { Frame } from './frame';

interface ScreenBox {
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
  readonly scope: number;
  readonly at: number;
  readonly points: number;
  readonly frameX: number;
  readonly frameY: number;
}

/** A link as drawn, piece by piece from source to target, in screen coordinates. */
export type Link = readonly (Route | Leg)[];

/** With more links than this each is one curve, because their routes would overlap. */
const MOST_ROUTED = 40;

export class Linker {
  private readonly self: ScreenBox;
  private readonly routed: boolean;

  constructor(
    private readonly frame: Frame,
    private readonly camera: Camera,
    private readonly selected: number,
    links: number,
  ) {
    this.self = screenBox(frame, camera, selected);
    this.routed = links <= MOST_ROUTED && !frame.motion.active;
  }

  link(neighbour: Neighbour): Link {
    const [from, to] = neighbour.input ? [neighbour.entity, this.selected] : [this.selected, neighbour.entity];
    const { tree, placed } = this.frame.drawing;
    const known = (entity: number): number => entryX(this.frame, entity);
    const way = this.routed ? crossing(tree, placed, known, (entity) => placed.origin(entity), from, to) : null;
    if (way) {
      const route = this.routeBetween(way.from, way.to) ?? this.curve(way.from, way.to, false);
      return [...way.out.map((leg) => this.toScreen(leg)), route, ...way.into.map((leg) => this.toScreen(leg))];
    }
    return [this.routeBetween(from, to) ?? this.curve(from, to, true)];
  }

  /** Traces the clear part of a link (`clear`), or the part over other boxes. */
  trace(link: Link, clear: boolean): void {
    for (const piece of link) {
      if ('at' in piece) {
        if (clear) this.traceRoute(piece);
      } else if (piece.clear === clear) this.traceLeg(piece);
    }
  }

  traceArrow(link: Link): void {
    const { context, drawing } = this.frame;
    const size = Math.max(6, arrowSize(1, this.camera.zoom));
    const last = link[link.length - 1]!;
    if ('at' in last)
      traceArrow(context, drawing.placed.routes[last.scope]!, last.at, last.points, last.frameX, last.frameY, this.camera.zoom, size);
    else arrowHead(context, last.toX, last.toY, 0, 1, size);
  }

  private traceRoute({ scope, at, points, frameX, frameY }: Route): void {
    const { context, drawing } = this.frame;
    traceRoute(context, drawing.placed.routes[scope]!, at, points, frameX, frameY, this.camera.zoom);
  }

  private traceLeg({ fromX, fromY, toX, toY }: Leg): void {
    const { context } = this.frame;
    const dy = toY - fromY;
    // Downwards an S; upwards a loop.
    const reach = dy > 0 ? dy / 2 : Math.min(90, 40 * this.camera.zoom + 14 - dy / 6);
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX, fromY + reach, toX, toY - reach, toX, toY);
  }

  /** The route of the edge between two siblings, if there is one. */
  private routeBetween(from: number, to: number): Route | null {
    const { tree, meta, placed } = this.frame.drawing;
    const scope = tree.parent[from]!;
    if (scope < 0 || scope !== tree.parent[to] || this.frame.motion.active) return null;
    let found: { at: number; points: number } | undefined;
    forEachRoute(this.frame, scope, (m, at, points) => {
      if (meta.source[m] === from && meta.target[m] === to) found = { at, points };
    });
    if (!found) return null;
    const box = screenBox(this.frame, this.camera, tree.nodeCount + scope);
    return { scope, ...found, frameX: box.x + (placed.shift[scope] ?? 0) * this.camera.zoom, frameY: box.y };
  }

  /** From the bottom of the source to the top of the consumer. */
  private curve(from: number, to: number, clear: boolean): Leg {
    const [source, target] = [this.box(from), this.box(to)];
    return {
      fromX: source.x + entryX(this.frame, from) * this.camera.zoom,
      fromY: source.y + source.height,
      toX: target.x + entryX(this.frame, to) * this.camera.zoom,
      toY: target.y,
      clear,
    };
  }

  private box(entity: number): ScreenBox {
    return entity === this.selected ? this.self : screenBox(this.frame, this.camera, entity);
  }

  private toScreen({ fromX, fromY, toX, toY, clear }: Leg): Leg {
    const { camera } = this;
    const { view } = this.frame.scene;
    return {
      fromX: toScreenX(camera, view, fromX),
      fromY: toScreenY(camera, view, fromY),
      toX: toScreenX(camera, view, toX),
      toY: toScreenY(camera, view, toY),
      clear,
    };
  }
}

// The route of a link between two scopes: out through the plugs of the scopes around its source, along the edge between the two siblings
// that contain its ends, and in through the plugs of the scopes around its target, like the edges themselves.

/** A straight or S-shaped piece from a bottom down to a top, or along a border; points in the frame of the whole graph. */
interface Leg {
  readonly fromX: number;
  readonly fromY: number;
  readonly toX: number;
  readonly toY: number;
  /** The piece is clear; if not, it is drawn faintly over boxes. */
  readonly clear: boolean;
}

interface Crossing {
  /** Inside the scopes around the source, innermost first. */
  readonly out: readonly Leg[];
  readonly into: readonly Leg[];
  /** The siblings in the common scope between which the link runs. */
  readonly from: number;
  readonly to: number;
}

/** Where edges enter and leave an entity, from its left side. */
type EntryX = (entity: number) => number;

type Origin = (entity: number) => { x: number; y: number };

/** Null if one of the ends contains the other. */
export function crossing(
  tree: ScopeTree,
  placed: PlacedGraph,
  entryX: EntryX,
  origin: Origin,
  source: number,
  target: number,
): Crossing | null {
  const [above, below] = [around(tree, source), around(tree, target)];
  const shared = new Set(above);
  const common = below.find((scope) => shared.has(scope));
  if (common === undefined) return null;
  const out = above.slice(0, above.indexOf(common));
  const into = below.slice(0, below.indexOf(common));
  const end = (scopes: readonly number[], entity: number): number => (scopes.length ? tree.nodeCount + scopes[scopes.length - 1]! : entity);
  const [from, to] = [end(out, source), end(into, target)];
  if (from === to) return null;
  const leaving = out.map((scope, i) => {
    const child = i === 0 ? source : tree.nodeCount + out[i - 1]!;
    return leg(placed, entryX, origin, tree.nodeCount + scope, child, false);
  });
  const entering = into.map((scope, i) => {
    const child = i === 0 ? target : tree.nodeCount + into[i - 1]!;
    return leg(placed, entryX, origin, tree.nodeCount + scope, child, true);
  });
  return { out: leaving, into: entering.reverse(), from, to };
}

/** The scopes around an entity, innermost first, the whole graph last. */
function around(tree: ScopeTree, entity: number): number[] {
  const scopes: number[] = [];
  for (let scope = tree.parent[entity]!; scope >= 0; scope = tree.parent[tree.nodeCount + scope]!) scopes.push(scope);
  return scopes;
}

/** Between a child and the plug of its scope. */
function leg(placed: PlacedGraph, entryX: EntryX, origin: Origin, scope: number, child: number, inwards: boolean): Leg {
  const [outer, inner] = [origin(scope), origin(child)];
  const plugX = outer.x + entryX(scope);
  const childX = inner.x + entryX(child);
  const clear = (placed.flags[child]! & (inwards ? BRIDGE_IN : BRIDGE_OUT)) !== 0;
  if (inwards) return { fromX: plugX, fromY: outer.y, toX: childX, toY: inner.y, clear };
  return { fromX: childX, fromY: inner.y + placed.height[child]!, toX: plugX, toY: outer.y + placed.height[scope]!, clear };
}
