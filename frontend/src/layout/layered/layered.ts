/**
 * Layered layout (Sugiyama) of connected pieces: ranks, order, x, rows, routes. Deterministic; time about linear in edges. A flat
 * optimizer scope has ten thousand pieces of few shapes: each shape is laid out once.
 */

import type { Numbers } from '../../lib/arrays/typed_arrays';
import { floats } from '../../lib/arrays/typed_arrays';
import { NumberMemo } from '../number_memo';
import { placeHorizontally } from './coordinates';
import { reduceCrossings } from './crossings';
import type { LayeredInput, Placement } from './layered_input';
import { buildLevels } from './levels';
import { assignRanks } from './ranks';
import { routeEdges } from './routes';
import { placeRows } from './rows';

/** Lays out one connected piece. */
export function layered(problem: LayeredInput): Placement {
  const { count, width, height } = problem;
  if (count === 1) return { width: width[0]!, height: height[0]!, x: [width[0]! / 2], y: [height[0]! / 2], routes: [] };
  const ranks = assignRanks(count, problem.source, problem.target, problem.weight);
  const levels = buildLevels(count, ranks);
  reduceCrossings(levels);
  const x = placeHorizontally(problem, levels);
  const rows = placeRows(problem, levels, x);
  const y = floats(levels.count);
  for (let v = 0; v < levels.count; v++) {
    const rank = levels.rank[v]!;
    y[v] = rows.top[rank]! + rows.height[rank]! / 2;
    x[v]! += rows.columns[rows.columnOf[rank]!]!.shift;
  }
  const routes = routeEdges(problem, ranks, levels, rows, x, y);
  return { width: rows.width, height: rows.total, x, y, routes };
}

/** With fewer pieces, looking for equal ones does not pay. */
const FEW_PIECES = 8;
const MOST_SHAPES = 1000;
/** Larger pieces are rarely repeated. */
const MOST_NUMBERS = 1000;
const scratch = new Float32Array(MOST_NUMBERS);

/** Lays out pieces of one scope, of which there are `count`. */
export function pieceLayouts(count: number): (problem: LayeredInput) => Placement {
  if (count < FEW_PIECES) return layered;
  const memo = new NumberMemo<Placement>(scratch, MOST_SHAPES);
  return (problem) => {
    const length = problem.count === 1 ? 0 : write(problem);
    return length === 0 ? layered(problem) : memo.get(length, () => layered(problem));
  };
}

const BOX_NUMBERS = 8;
const EDGE_NUMBERS = 3;

/** Writes everything that a layout depends on; returns the count of numbers, 0 if there are too many. */
function write(problem: LayeredInput): number {
  const { width, height, restWidth, restHeight, inOffset, outOffset, inset, plug, source, target, weight } = problem;
  if (1 + BOX_NUMBERS * problem.count + EDGE_NUMBERS * source.length > MOST_NUMBERS) return 0;
  scratch[0] = problem.count;
  let at = 1;
  for (const numbers of [width, height, restWidth, restHeight, inOffset, outOffset, inset, plug, source, target, weight])
    at = copy(numbers, at);
  return at;
}

function copy(numbers: Numbers, start: number): number {
  for (let i = 0; i < numbers.length; i++) scratch[start + i] = numbers[i]!;
  return start + numbers.length;
}
