import { expect, test } from 'vitest';
import { alone, drawnOrder, inOrder, outline } from './step_gaps';

test.each([
  [
    [0, 1, 2, 3, 200, 201],
    [0, 1, 2, 3, -1, 4, 5],
  ],
  [
    [0, 100, 200, 201, 202, 300, 400],
    [0, 1, 2, 3, 4, 5, 6],
  ],
  [
    [0, 1, 100],
    [0, 1, 2],
  ],
  [
    [0, 10, 20, 90, 100, 110],
    [0, 1, 2, 3, 4, 5],
  ],
  [[], []],
])('of the steps %j a line takes %j: it ends where the distance is many times the usual one', (steps, expected) => {
  expect(drawnOrder(steps)).toEqual(expected);
});

test('numbers that no line reaches are known', () => {
  const column = inOrder([0, 1, -1, 2, -1, 3], [5, 6, 7, Number.NaN]);
  expect(column).toEqual([5, 6, Number.NaN, 7, Number.NaN, Number.NaN]);
  expect(alone(column)).toEqual([false, false, false, true, false, false]);
});

test('an area has an outline for each run of steps', () => {
  const gap = Number.NaN;
  expect(outline([0, 1, 1, 8, 9], [1, 2, gap, 3, 4], [5, 6, gap, 7, 8])).toEqual({
    x: [0, 1, 1, 0, gap, 8, 9, 9, 8, gap],
    y: [1, 2, 6, 5, gap, 3, 4, 8, 7, gap],
  });
  expect(outline([0, 1], [1, gap], [2, gap])).toEqual({ x: [], y: [] });
});
