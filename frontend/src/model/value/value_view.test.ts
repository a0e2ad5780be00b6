import { expect, test } from 'vitest';
import { naturalMode } from './value_view';

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
  expect(naturalMode(shape, dtype)).toBe(mode);
});
