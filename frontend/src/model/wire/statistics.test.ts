import { expect, test } from 'vitest';
import { type Measures, shapeText, uncounted } from './statistics';

const NONE: Measures = {
  size: 10,
  nan: 1,
  pos_inf: 1,
  neg_inf: 0,
  zero: 2,
  negative: 2,
  positive: 4,
  subnormal: 4,
  min: 0,
  max: 0,
  mean: 0,
  std: 0,
  l2: 0,
  abs_max: 0,
};

test('elements of every kind are counted', () => {
  expect(uncounted(NONE)).toBe(0);
});

test('what an import could not count is told apart from zeros', () => {
  expect(uncounted({ ...NONE, zero: 0, negative: 0, positive: 0 })).toBe(8);
});

test('unknown counts arrive as NaN, and a tensor whose size is unknown has no known shape', () => {
  const unknown = Number.NaN;
  expect(uncounted({ ...NONE, nan: unknown, pos_inf: unknown, zero: unknown, negative: 0, positive: 0 })).toBe(10);
  expect(uncounted({ ...NONE, size: unknown })).toBe(0);
  expect(shapeText({ shape: [1], size: unknown })).toBe('unknown');
  expect(shapeText({ shape: [], size: 1 })).toBe('scalar');
});
