import { expect, test } from 'vitest';
import { FOLDING } from './layered_input';
import { foldRanks } from './rows';

const ranks = (count: number, height: number, width: number) => ({
  height: new Array<number>(count).fill(height),
  width: new Array<number>(count).fill(width),
});
const crossing = (count: number) => new Array<number>(count).fill(1);

test('what fits a screen stays one column', () => {
  expect(foldRanks(ranks(12, 68, 110), ranks(12, 68, 110), crossing(12), FOLDING)).toEqual([0]);
});

test('a long chain is cut into columns of about the same height', () => {
  const starts = foldRanks(ranks(64, 68, 110), ranks(64, 68, 110), crossing(64), FOLDING);
  expect(starts.length).toBeGreaterThan(5);
  const heights = starts.map((start, i) => (starts[i + 1] ?? 64) - start);
  expect(Math.max(...heights) - Math.min(...heights)).toBeLessThanOrEqual(4);
});

test('four opened blocks, each of them taller than the screen, stand side by side', () => {
  expect(foldRanks(ranks(4, 68, 110), ranks(4, 5630, 1036), crossing(4), FOLDING)).toEqual([0, 1, 2, 3]);
});

test('opening one of them moves none of the others to another column', () => {
  const now = { height: [5630, 68, 68, 68], width: [1036, 110, 110, 110] };
  expect(foldRanks(ranks(4, 68, 110), now, crossing(4), FOLDING)).toEqual([0]);
});
