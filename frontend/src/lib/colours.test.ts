import { expect, test } from 'vitest';
import { colormap, colourIndex, parseColour } from './colours';

test('every scale begins and ends at its own colours', () => {
  expect([...colormap('viridis').slice(0, 3)]).toEqual(parseColour('#440154'));
  expect([...colormap('viridis').slice(-3)]).toEqual(parseColour('#fde725'));
  expect(colormap('grey')).toHaveLength(768);
});

test.each([
  [0, 0, 1, 0],
  [1, 0, 1, 255],
  [0.5, 0, 1, 128],
  [-5, 0, 1, 0],
  [9, 0, 1, 255],
  [3, 3, 3, 0],
])('colourIndex(%d) between %d and %d is %d', (value, low, high, index) => {
  expect(colourIndex(value, low, high)).toBe(index);
});
