import { expect, test } from 'vitest';
import { sparkline } from './Sparkline';

test('steps stand where they are, the line has gaps, and bad steps are marked', () => {
  const trend = { step: [0, 10, 40, 80, 100], value: [1, 3, Number.NaN, 2, Number.NaN], bad: [false, false, true, false, false] };
  expect(sparkline(trend, 104, 25)).toEqual({ path: 'M2 22L12 2', dots: [[82, 12]], bad: [42], low: 1, high: 3 });
});

test('one step, equal values, and none at all', () => {
  expect(sparkline({ step: [7], value: [5], bad: [true] }, 100, 20)).toMatchObject({ dots: [[50, 10]], bad: [50] });
  expect(sparkline({ step: [0, 1], value: [5, 5], bad: [false, false] }, 100, 20).path).toBe('M2 10L98 10');
  expect(sparkline({ step: [], value: [], bad: [] }, 100, 20)).toEqual({ path: '', dots: [], bad: [], low: Number.NaN, high: Number.NaN });
});
