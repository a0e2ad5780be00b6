/** Going from one node with NaN or Inf to the next. */

import type { GraphData } from '../wire/graph';
import { flowPositions } from './flow_order';

/**
 * The row that comes next from row `from` (-1 for none), or the one before, around the ends; undefined where `bad` is empty. What `births`
 * holds comes first, as there it began, then all others in the order of the data's flow.
 */
export function nextBadNode(
  graph: GraphData,
  bad: readonly number[],
  births: readonly number[],
  from: number,
  direction: 1 | -1,
): number | undefined {
  const positions = flowPositions(graph);
  const held = new Set(bad);
  const first = [...new Set(births)].filter((row) => held.has(row));
  const began = new Set(first);
  const rest = bad.filter((row) => !began.has(row)).sort((a, b) => positions[a]! - positions[b]!);
  const all = [...first, ...rest];
  const at = all.indexOf(from);
  if (at >= 0) return all[(at + direction + all.length) % all.length];
  if (from < 0) return all.at(direction > 0 ? 0 : -1);
  // From a node that is fine to those behind it, or before it.
  const here = positions[from]!;
  const beside = direction > 0 ? rest.find((row) => positions[row]! > here) : rest.findLast((row) => positions[row]! < here);
  return beside ?? all.at(direction > 0 ? 0 : -1);
}
