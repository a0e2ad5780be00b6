/** Where an arrow key leads from an entity. */

import type { Neighbour } from './neighbours';
import type { ScopeTree } from './tree';

export type Direction = 'up' | 'down' | 'left' | 'right';

/** Boxes in the frame of the scope that holds them. */
export interface Boxes {
  readonly left: ArrayLike<number>;
  readonly top: ArrayLike<number>;
  readonly width: ArrayLike<number>;
  readonly height: ArrayLike<number>;
}

/** Up and down follow edges (data before control); left and right go to the nearest sibling on that side. -1: nowhere to go. */
export function move(tree: ScopeTree, boxes: Boxes, neighbours: readonly Neighbour[], entity: number, direction: Direction): number {
  if (direction === 'up' || direction === 'down') return alongEdge(neighbours, direction === 'up');
  return beside(tree, boxes, entity, direction === 'right');
}

function alongEdge(neighbours: readonly Neighbour[], input: boolean): number {
  const side = neighbours.filter((neighbour) => neighbour.input === input);
  return (side.find((neighbour) => !neighbour.control) ?? side[0])?.entity ?? -1;
}

/** Sideways distance counts once, height difference three times: the next one in the row comes before one above it. */
function beside(tree: ScopeTree, boxes: Boxes, entity: number, right: boolean): number {
  const scope = tree.parent[entity]!;
  if (scope < 0) return -1;
  const centre = (of: number): [number, number] => [boxes.left[of]! + boxes.width[of]! / 2, boxes.top[of]! + boxes.height[of]! / 2];
  const [x, y] = centre(entity);
  let nearest = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
    const other = tree.children[i]!;
    const [ox, oy] = centre(other);
    const ahead = right ? ox - x : x - ox;
    if (other === entity || ahead <= 0) continue;
    const distance = ahead + 3 * Math.abs(oy - y);
    if (distance >= least) continue;
    least = distance;
    nearest = other;
  }
  return nearest;
}
