import { expect, test } from 'vitest';
import { countTick } from './count_ticks';

test.each([
  [0, 1],
  [1, 1],
  [3, 1],
  [4, 2],
  [31, 20],
  [32, 20],
  [1_000_000, 500_000],
])('up to %i counts have a tick every %i', (most, expected) => {
  expect(countTick(most)).toBe(expected);
});
