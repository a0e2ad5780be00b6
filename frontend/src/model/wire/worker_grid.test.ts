import { expect, test } from 'vitest';
import { encodeColumns } from '../../api/encode';
import { cellsOf, decodeWorkerGrid, drifting, incomplete } from './worker_grid';

/** Three workers at two steps: the first drifts at the second one, where the second captured nothing. */
function answer(differing: number[], last = 1.5) {
  return encodeColumns(
    { statistic: 'mean', of_steps: 5, rank: [2, 1, 0] },
    {
      step: Float64Array.of(0, 4),
      low: Float64Array.of(1, 1),
      median: Float64Array.of(1, 1),
      high: Float64Array.of(1, last),
      worker: { text: ['c', 'b', 'a'] },
      differing: Int32Array.from(differing),
      first_differing: Float64Array.of(4, -1, -1),
      missing: Int32Array.of(0, 1, 0),
      value: Float64Array.of(1, last, 1, Number.NaN, 1, Number.NaN),
      captured: Uint8Array.of(1, 1, 1, 0, 1, 1),
    },
  );
}

const pixel = ({ rgba }: { rgba: Uint8ClampedArray }, cell: number) => [...rgba.subarray(4 * cell, 4 * cell + 4)];

test('workers that leave the others, and those that miss steps, are counted', () => {
  const grid = decodeWorkerGrid(answer([1, 0, 0]));
  expect([drifting(grid), incomplete(grid), grid.ofSteps]).toEqual([1, 1, 5]);
  expect(drifting(decodeWorkerGrid(answer([2, 2, 0])))).toBe(0); // activations are each worker's own
});

test('a pixel is the distance from the median, plain where there is none, bad where nothing is finite', () => {
  const cells = cellsOf(decodeWorkerGrid(answer([1, 0, 0])), true, '#ff0000', '#101010');
  expect([cells.width, cells.height]).toEqual([2, 3]);
  expect(pixel(cells, 0)).toEqual([16, 16, 16, 255]);
  expect(pixel(cells, 1)).toEqual([103, 0, 31, 255]); // the end of the scale
  expect(pixel(cells, 3)).toEqual([0, 0, 0, 0]);
  expect(pixel(cells, 5)).toEqual([255, 0, 0, 255]);
});

test('values have the scale of their statistic', () => {
  const cells = cellsOf(decodeWorkerGrid(answer([1, 0, 0], -1)), false, '#ff0000', '#101010');
  expect(pixel(cells, 0)).toEqual([103, 0, 31, 255]);
  expect(pixel(cells, 1)).toEqual([5, 48, 97, 255]);
});
