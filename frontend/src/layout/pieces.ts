/** Layouts of a scope's pieces. A flat optimizer scope has ten thousand pieces of a handful of shapes: each shape is laid out once. */

import type { Numbers } from '../lib/numbers';
import { layered } from './layered';
import { NumberMemo } from './number_memo';
import type { Placement, Problem } from './problem';

/** Fewer pieces are not worth looking for equal ones. */
const FEW_PIECES = 8;
const MOST_SHAPES = 1000;
/** Larger pieces are rarely repeated. */
const MOST_NUMBERS = 1000;
const scratch = new Float32Array(MOST_NUMBERS);

/** Lays out pieces of one scope, of which there are `count`. */
export function pieceLayouts(count: number): (problem: Problem) => Placement {
  if (count < FEW_PIECES) return layered;
  const memo = new NumberMemo<Placement>(scratch, MOST_SHAPES);
  return (problem) => {
    const length = problem.count === 1 ? 0 : write(problem);
    return length === 0 ? layered(problem) : memo.get(length, () => layered(problem));
  };
}

const BOX_NUMBERS = 8;
const EDGE_NUMBERS = 3;

/** Writes all that a layout depends on; returns how many numbers that are, 0 for too many. */
function write(problem: Problem): number {
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
