import { expect, test } from 'vitest';
import { quantile, quantileSeries } from './quantiles';

const row = (counts: number[], min: number, max: number, step = 0) => ({
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
  expect(quantile(axis, row([0, 50, 50], 1, 2.5), share)).toBeCloseTo(value, 9);
});

test('the outermost buckets end at the extremes', () => {
  const axis = { edges: [-4, -2, 2, 4], zero_bucket: 1 };
  expect(quantile(axis, row([1, 0, 1], -2.5, 3), 0)).toBeCloseTo(-2.5);
  expect(quantile(axis, row([1, 0, 1], -2.5, 3), 1)).toBeCloseTo(3);
});

test('exact zeros are 0, whatever their bucket spans', () => {
  expect(quantile({ edges: [-1e-3, 1e-3, 1], zero_bucket: 0 }, row([90, 10], 0, 0.9), 0.5)).toBe(0);
});

test('steps with nothing finite are left out', () => {
  const series = quantileSeries({
    tensor: 'x:0',
    graph: 'g',
    edges: [1, 2],
    zero_bucket: null,
    approximate: false,
    rows: [row([4], 1, 2, 3), row([0], Number.NaN, Number.NaN, 5)],
  });
  expect(series).toEqual({ step: [3], p5: [1.05], p25: [1.25], median: [1.5], p75: [1.75], p95: [1.95] });
});
