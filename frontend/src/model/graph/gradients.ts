import type { GraphData } from '../wire/graph';

/** More are in the list of tensors. */
const MOST = 20;

/** Rows of the nodes that compute the gradients of a node, by the names that TensorFlow gives them. */
export function gradientsOf(graph: GraphData, node: string): number[] {
  const { names } = graph;
  const [inTape, inFunction] = [`gradient_tape/${node}`, `gradients/${node}_grad/`];
  if (!names.whole().includes(inTape) && !names.whole().includes(inFunction)) return [];
  const found: number[] = [];
  for (let row = 0; row < graph.nodeCount && found.length < MOST; row++) {
    const name = names.at(row);
    const at = name.indexOf(inTape);
    const whole = at >= 0 && (name.length === at + inTape.length || name[at + inTape.length] === '/');
    if ((whole && (at === 0 || name[at - 1] === '/')) || name.startsWith(inFunction)) found.push(row);
  }
  return found;
}
