import { type Neighbour, shownNeighbours } from '../../model/graph/neighbours';
import type { Drawing } from '../../render/frame';

/** What an entity is joined with, as far as it is on show. */
export function neighboursOf({ tree, graph, meta, placed }: Drawing, entity: number): readonly Neighbour[] {
  return shownNeighbours(tree, graph.edges, meta, placed.open, entity);
}
