import { expect, test } from 'vitest';
import { colormap, colourIndex, parseColour } from './colours';

test('every scale begins and ends at its own colours', () => {
  expect([...colormap('viridis').slice(0, 3)]).toEqual(parseColour('#440154'));
  expect([...colormap('viridis').slice(-3)]).toEqual(parseColour('#fde725'));
  expect(colormap('grey')).toHaveLength(768);
  expect([...colormap('diverging').slice(0, 3)]).toEqual(parseColour('#053061'));
  expect([...colormap('diverging').slice(-3)]).toEqual(parseColour('#67001f'));
});

test.each([
  ['viridis', 0.25, '#3b528b'],
  ['viridis', 0.5, '#21918c'],
  ['viridis', 0.75, '#5ec962'],
  ['magma', 0.5, '#b73779'],
  ['magma', 0.25, '#51127c'],
] as const)('%s at %d is %s, up to a level', (name, place, colour) => {
  const at = Math.round(255 * place);
  const off = parseColour(colour).map((level, i) => Math.abs(level - colormap(name)[3 * at + i]!));
  expect(Math.max(...off)).toBeLessThanOrEqual(4); // the position is rounded to 1/255
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
