/**
 * The way of a link between two scopes: out through the plugs of the scopes around its source, along the edge between the two
 * siblings that hold its ends, and in through the plugs of the scopes around its target, as the edges themselves are drawn.
 */

import type { PlacedGraph } from '../layout/placed';
import { BRIDGE_IN, BRIDGE_OUT } from '../layout/scope/bridges';
import type { ScopeTree } from '../model/graph/tree';

/** A straight or S-shaped piece from a bottom down to a top, or along a border; points in the frame of the whole graph. */
export interface Leg {
  readonly fromX: number;
  readonly fromY: number;
  readonly toX: number;
  readonly toY: number;
  /** Nothing stands in its way; else it is drawn faintly, over what does. */
  readonly clear: boolean;
}

export interface Crossing {
  /** Inside the scopes around the source, innermost first. */
  readonly out: readonly Leg[];
  readonly into: readonly Leg[];
  /** The siblings between which the link runs in the scope that holds both. */
  readonly from: number;
  readonly to: number;
}

/** Where edges enter and leave an entity, from its left side. */
export type EntryX = (entity: number) => number;

type Origin = (entity: number) => { x: number; y: number };

/** Null where one of the ends holds the other. */
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

/** Between a child and the plug of the scope that holds it. */
function leg(placed: PlacedGraph, entryX: EntryX, origin: Origin, scope: number, child: number, inwards: boolean): Leg {
  const [outer, inner] = [origin(scope), origin(child)];
  const plugX = outer.x + entryX(scope);
  const childX = inner.x + entryX(child);
  const clear = (placed.flags[child]! & (inwards ? BRIDGE_IN : BRIDGE_OUT)) !== 0;
  if (inwards) return { fromX: plugX, fromY: outer.y, toX: childX, toY: inner.y, clear };
  return { fromX: childX, fromY: inner.y + placed.height[child]!, toX: plugX, toY: outer.y + placed.height[scope]!, clear };
}
