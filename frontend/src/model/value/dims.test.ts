import { describe, expect, test } from 'vitest';
import {
  assignAxis,
  assignIndex,
  type DimMapping,
  defaultMapping,
  defaultMode,
  dimsText,
  fits,
  foldedDims,
  fullIndex,
  type Layout,
  mappingText,
  parseMapping,
  shownBy,
  sliceStrides,
  spanLength,
  toSelection,
} from './dims';

/** Truth table of the initial mapping of a view. */
const DEFAULTS: [number[], Layout, DimMapping][] = [
  [[], 'plane', []],
  [[5], 'plane', ['y']],
  [[5], 'line', ['x']],
  [[5], 'image', ['x']],
  [[4, 5], 'plane', ['y', 'x']],
  [[4, 5], 'line', [0, 'x']],
  [[4, 5], 'image', ['y', 'x']],
  [[2, 4, 5], 'plane', [0, 'y', 'x']],
  [[2, 3, 1, 2, 1, 1], 'plane', [0, 'y', 0, 'x', 0, 0]],
  [[1, 1, 1, 1, 1], 'plane', [0, 0, 0, 'y', 'x']],
  [[28, 28, 3], 'image', ['y', 'x', 'c']],
  [[28, 28, 16], 'image', ['y', 'x', 'n']],
  [[8, 28, 28, 1], 'image', [0, 'y', 'x', 'c']],
  [[8, 28, 28, 3], 'image', [0, 'y', 'x', 'c']],
  [[8, 28, 28, 16], 'image', [0, 'y', 'x', 'n']],
  [[3, 3, 1, 16], 'image', ['y', 'x', 0, 'n']],
  [[3, 3, 64, 3], 'image', ['y', 'x', 0, 'n']],
  [[1, 1, 64, 128], 'image', [0, 'n', 'y', 'x']],
  [[1, 1, 64, 128], 'plane', [0, 0, 'y', 'x']],
  [[64, 8, 8, 16], 'plane', [0, 'y', 'x', 0]],
  [[3, 3, 16, 32], 'plane', ['y', 'x', 0, 0]],
  [[3, 3, 3, 16], 'plane', ['y', 'x', 0, 0]],
  [[4, 8, 8, 6], 'plane', [0, 'y', 'x', 0]],
  [[8, 8, 8, 6], 'plane', [0, 'y', 'x', 0]],
  [[28, 28, 3], 'plane', ['y', 'x', 0]],
  [[8, 4, 24, 24], 'plane', [0, 0, 'y', 'x']],
  [[8, 4, 24, 24], 'image', [0, 'n', 'y', 'x']],
  [[6, 24, 24], 'image', ['n', 'y', 'x']],
  [[2, 3, 4, 5, 6], 'plane', [0, 0, 0, 'y', 'x']],
];

test.each(DEFAULTS)('a tensor of shape %j in a %s starts as %j', (shape, layout, mapping) => {
  expect(defaultMapping(shape, layout)).toEqual(mapping);
  expect(fits(mapping, shape)).toBe(true);
});

/** [before, dimension, axis, after]: an axis moves, and its previous dimension takes over the other role. */
const ASSIGNMENTS: [DimMapping, number, 'y' | 'x' | 'n', DimMapping][] = [
  [['y', 'x'], 0, 'x', ['x', 'y']],
  [['y', 'x'], 1, 'x', ['y', 'x']],
  [[0, 'y', 'x'], 0, 'x', ['x', 'y', 0]],
  [[7, 'y', 'x'], 0, 'y', ['y', 0, 'x']],
  [[0, 'y', 'x'], 0, 'n', ['n', 'y', 'x']],
  [['y', 'x', 0, 'n'], 2, 'n', ['y', 'x', 'n', 0]],
];

test.each(ASSIGNMENTS)('%j: dimension %d becomes %s: %j', (before, dim, axis, after) => {
  expect(assignAxis(before, dim, axis)).toEqual(after);
});

test('fixing a dimension leaves the others', () => {
  expect(assignIndex([0, 'y', 'x'], 0, 5)).toEqual([5, 'y', 'x']);
});

test('a mapping survives an address; anything else is none', () => {
  expect(parseMapping(mappingText([7, 'y', 'x', 'n']))).toEqual([7, 'y', 'x', 'n']);
  expect([parseMapping(''), parseMapping('0,z'), parseMapping('-1,y'), parseMapping('1e3')]).toEqual([null, null, null, null]);
});

describe('selections', () => {
  test.each([
    [[], {}, ''],
    [['y', 'x'], {}, ':,:'],
    [[3, 'y', 'x'], {}, '3,:,:'],
    [[3, 'y', 'x'], { y: { start: 10, stop: 20, step: 1 }, x: { start: 0, stop: 100, step: 4 } }, '3,10:20,0:100:4'],
  ] as [DimMapping, Parameters<typeof toSelection>[1], string][])('%j with %j is %s', (mapping, spans, text) => {
    expect(toSelection(mapping, spans)).toBe(text);
  });

  test('a span counts as NumPy does', () => {
    expect(spanLength({ start: 0, stop: 10, step: 3 })).toBe(4);
    expect(spanLength({ start: 5, stop: 5, step: 1 })).toBe(0);
  });
});

test('strides follow the order of the answered slice, so that a mapping can transpose it', () => {
  expect(sliceStrides([4, 5], ['y', 0, 'x'])).toEqual({ y: 5, x: 1, c: 0, n: 0 });
  expect(sliceStrides([4, 5], ['x', 0, 'y'])).toEqual({ x: 5, y: 1, c: 0, n: 0 });
  expect(sliceStrides([3, 3, 16], ['y', 'x', 2, 'n'])).toEqual({ y: 48, x: 16, n: 1, c: 0 });
});

test('a full index puts the axes back at their dimensions', () => {
  expect(fullIndex([7, 'x', 'y'], { y: 1, x: 2 })).toEqual([7, 2, 1]);
});

test.each([
  [['y', 'x'], [3], false],
  [['y', 'y'], [3, 3], false],
  [[3, 'x'], [3, 3], false],
  [[2, 'x'], [3, 3], true],
  [[0], [0], true],
] as [DimMapping, number[], boolean][])('fits(%j, %j) is %s', (mapping, shape, expected) => {
  expect(fits(mapping, shape)).toBe(expected);
});

test('dimensions of one element are folded unless they are an axis', () => {
  expect(foldedDims([2, 1, 1, 3, 1], [0, 0, 'y', 'x', 0])).toEqual([1, 4]);
  expect([[], [4], [0, 2], [4, 5, 6, 9]].map(dimsText)).toEqual(['', '4', '0, 2', '4–6, 9']);
});

test('a role that a view lacks becomes an index', () => {
  expect(shownBy('plane', [1, 'n', 'y', 'x'], [2, 4, 16, 16])).toEqual([1, 0, 'y', 'x']);
  expect(shownBy('image', ['n', 'y', 'x', 'c'], [4, 32, 48, 3])).toEqual(['n', 'y', 'x', 'c']);
  expect(shownBy('image', ['y', 'x', 'c'], [32, 48, 16])).toEqual(['y', 'x', 0]);
  expect(shownBy('line', ['y', 0], [32, 48])).toBeNull();
});

test.each([
  [[], 'float32', 'table'],
  [[64, 10], 'float32', 'table'],
  [[64, 8, 8, 16], 'float32', 'image'],
  [[3, 3, 16, 32], 'float32', 'image'],
  [[28, 28, 3], 'uint8', 'image'],
  [[1, 1, 1, 16], 'float32', 'table'],
  [[8, 4, 24, 24], 'float32', 'heatmap'],
  [[8, 24, 64], 'float32', 'table'],
  [[4, 8, 8, 3], 'string', 'table'],
] as [number[], string, string][])('a tensor of shape %j and %s opens as %s', (shape, dtype, mode) => {
  expect(defaultMode(shape, dtype)).toBe(mode);
});
