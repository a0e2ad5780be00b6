import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { alone, drawnOrder, historySeries, inOrder, outline, quantile, quantileSeries } from './history_series';

function row(part: Partial<Snapshot>): Snapshot {
  return {
    tensor: 'a:0',
    node: 'a',
    slot: 0,
    graph: 'g',
    step: 0,
    visit: 0,
    worker: 'w',
    time: 0,
    device: '',
    dtype: 'float32',
    shape: [2],
    kept: false,
    size: 2,
    nan: 0,
    pos_inf: 0,
    neg_inf: 0,
    zero: 0,
    negative: 0,
    positive: 2,
    subnormal: 0,
    min: 0,
    max: 0,
    mean: 0,
    std: 0,
    l2: 0,
    abs_max: 0,
    ...part,
  };
}

test('mean and std of one snapshot are taken as they are, and so the largest numbers too', () => {
  const { mean, std } = historySeries([row({ mean: 1e308, std: 1e200 })]);
  expect([mean, std]).toEqual([[1e308], [1e200]]);
});

test('one entry a step, ascending, with the band of one standard deviation', () => {
  const series = historySeries([row({ step: 5, mean: 3, std: 1, min: 1, max: 6, zero: 1 }), row({ step: 0 })]);
  expect(series.step).toEqual([0, 5]);
  expect([series.lower[1], series.mean[1], series.upper[1]]).toEqual([2, 3, 4]);
  expect([series.min[1], series.max[1], series.zeros[1]]).toEqual([1, 6, 50]);
});

test('visits of a step are pooled as if they were one array', () => {
  // [0, 2] and [4, 6]: together mean 3, population standard deviation sqrt(5).
  const series = historySeries([
    row({ visit: 0, min: 0, max: 2, mean: 1, std: 1, l2: 2, abs_max: 2 }),
    row({ visit: 1, min: 4, max: 6, mean: 5, std: 1, l2: Math.sqrt(52), abs_max: 6 }),
  ]);
  expect([series.min[0], series.max[0], series.absMax[0], series.mean[0]]).toEqual([0, 6, 6, 3]);
  expect(series.std[0]).toBeCloseTo(Math.sqrt(5));
  expect(series.l2[0]).toBeCloseTo(Math.sqrt(56));
});

test('a snapshot without finite elements weighs nothing', () => {
  const none = { min: Number.NaN, max: Number.NaN, mean: Number.NaN, std: Number.NaN, l2: Number.NaN, abs_max: Number.NaN };
  const series = historySeries([row({ nan: 2, ...none }), row({ visit: 1, mean: 4, min: 4, max: 4 })]);
  expect([series.mean[0], series.min[0], series.nan[0]]).toEqual([4, 4, 2]);
  const { mean, zeros } = historySeries([row({ nan: 2, ...none })]);
  expect([mean, zeros]).toEqual([[Number.NaN], [Number.NaN]]);
});

const histogramRow = (counts: number[], min: number, max: number, step = 0) => ({
  step,
  visit: 0,
  worker: 'w',
  counts,
  nan: 0,
  pos_inf: 0,
  neg_inf: 0,
  zero: 0,
  min,
  max,
});

test.each([
  [0.05, 1.05],
  [0.25, 1.25],
  [0.5, 1.5],
  [0.75, 2],
  [0.95, 2.4],
])('the quantile %d lies in its bucket', (share, value) => {
  const axis = { edges: [0.75, 1, 1.5, 3], zero_bucket: null };
  expect(quantile(axis, histogramRow([0, 50, 50], 1, 2.5), share)).toBeCloseTo(value, 9);
});

test('the outermost buckets end at the extremes', () => {
  const axis = { edges: [-4, -2, 2, 4], zero_bucket: 1 };
  expect(quantile(axis, histogramRow([1, 0, 1], -2.5, 3), 0)).toBeCloseTo(-2.5);
  expect(quantile(axis, histogramRow([1, 0, 1], -2.5, 3), 1)).toBeCloseTo(3);
});

test('exact zeros are 0, whatever their bucket spans', () => {
  expect(quantile({ edges: [-1e-3, 1e-3, 1], zero_bucket: 0 }, histogramRow([90, 10], 0, 0.9), 0.5)).toBe(0);
});

test('steps with nothing finite are left out', () => {
  const series = quantileSeries({
    tensor: 'x:0',
    graph: 'g',
    edges: [1, 2],
    zero_bucket: null,
    approximate: false,
    rows: [histogramRow([4], 1, 2, 3), histogramRow([0], Number.NaN, Number.NaN, 5)],
  });
  expect(series).toEqual({ step: [3], p5: [1.05], p25: [1.25], median: [1.5], p75: [1.75], p95: [1.95] });
});

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
