import { expect, test } from 'vitest';
import { finiteRange, robustRange, symmetric } from './value_range';

test('ranges are over the finite values only', () => {
  expect(finiteRange(Float64Array.of(3, Number.NaN, -1, Number.POSITIVE_INFINITY))).toEqual({ low: -1, high: 3 });
  expect(finiteRange(Float64Array.of(Number.NaN))).toBeNull();
  expect(robustRange(new Float64Array())).toBeNull();
});

test('a robust range leaves out outliers on both sides', () => {
  const values = Float64Array.from({ length: 1001 }, (_, i) => i);
  values[0] = -1e9;
  values[1000] = 1e9;
  expect(robustRange(values)).toEqual({ low: 10, high: 990 });
});

test('a symmetric range is centred on zero', () => {
  expect(symmetric({ low: -1, high: 3 })).toEqual({ low: -3, high: 3 });
});
