import { expect, test } from 'vitest';
import { logTicks } from './log_ticks';

const labels = (...columns: number[][]) => logTicks(columns).map(({ label }) => label);

test('powers of ten as far apart as there is room for, the largest among them', () => {
  expect(labels([1e-6, 1e-3], [100, Number.NaN, 0])).toEqual(['1e-4', '0.1', '100']);
  expect(labels([0.5, 20])).toEqual(['1', '10']);
});

test('within one power of ten also twos and fives, and within less than that the ends', () => {
  expect(labels([0.15, 0.6])).toEqual(['0.2', '0.5']);
  expect(labels([1.2, 1.4])).toEqual(['1.2', '1.4']);
  expect(labels([3])).toEqual(['3']);
  expect(labels([0, Number.NaN])).toEqual([]);
});
