import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { shortNames } from '../wire/names';
import { brushed, hasSeveralVisits, valueAt } from './compared_histories';
import { historySeries } from './history_series';

test('names keep as much as tells them apart', () => {
  expect(shortNames(['a/dense/Relu:0', 'b/dense/Relu:0', 'a/conv:0'])).toEqual(['a/dense/Relu:0', 'b/dense/Relu:0', 'conv:0']);
  expect(shortNames(['Relu:0', 'a/Relu:0'])).toEqual(['Relu:0', 'a/Relu:0']);
  expect(shortNames(['x:0', 'x:0'])).toEqual(['x:0', 'x:0']);
});

test('several visits of one step are found, not those of several steps or workers', () => {
  const rows = (...places: [number, number][]) => places.map(([step, visit]) => ({ step, visit }) as Snapshot);
  expect(hasSeveralVisits(rows([0, 0], [0, 1]))).toBe(true);
  expect(hasSeveralVisits(rows([0, 0], [0, 0], [1, 3], [2, 1]))).toBe(false);
});

test('a brush takes in the steps below it, drawn either way', () => {
  expect(brushed([0, 10, 20, 30], 4.2, 21)).toEqual({ first: 10, last: 20 });
  expect(brushed([0, 10, 20, 30], 99, 15)).toEqual({ first: 20, last: 30 });
  expect(brushed([0, 10], 1, 9)).toBeNull();
});

test('no value where there is no step', () => {
  expect(valueAt(historySeries([]), 'mean', 3)).toBeNaN();
});
