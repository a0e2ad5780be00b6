import { expect, test } from 'vitest';
import { MOST_PIXELS, scrollTo, virtualWindow } from './virtual_scroll';

test('a window holds what is in view and a few items around it', () => {
  expect(virtualWindow(240, 100, 24, 1000, 2)).toEqual({ first: 8, last: 18, offset: 192, total: 24_000 });
});

test('a window is held at both ends of the list', () => {
  expect(virtualWindow(0, 100, 24, 3)).toEqual({ first: 0, last: 3, offset: 0, total: 72 });
  expect(virtualWindow(-50, 0, 24, 0)).toEqual({ first: 0, last: 0, offset: 0, total: 0 });
  expect(virtualWindow(1e9, 100, 24, 10).last).toBe(10);
});

test('a list longer than browsers can place scrolls proportionally, to its very end', () => {
  const [count, viewport] = [10_000_000, 480];
  const end = virtualWindow(MOST_PIXELS - viewport, viewport, 24, count);
  expect(end.total).toBe(MOST_PIXELS);
  expect(end.last).toBe(count);
  const lastBottom = end.offset + (end.last - end.first) * 24;
  expect(Math.abs(lastBottom - MOST_PIXELS)).toBeLessThan(1);
});

test.each([[0], [999], [5_000_000], [9_999_999]])('scrollTo brings item %d into its window', (index) => {
  const { first, last } = virtualWindow(scrollTo(index, 480, 24, 10_000_000), 480, 24, 10_000_000, 0);
  expect(index).toBeGreaterThanOrEqual(first);
  expect(index).toBeLessThan(last + 1);
});
