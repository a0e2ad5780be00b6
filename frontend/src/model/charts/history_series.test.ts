import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { historySeries } from './history_series';

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
