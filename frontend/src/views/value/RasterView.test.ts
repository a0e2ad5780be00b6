import { expect, test } from 'vitest';
import { fitPicture, markedText, zoomAt } from './RasterView';

test('a picture is centred with square pixels', () => {
  const view = fitPicture(100, 50, 424, 424);
  expect(view.scaleX).toBe(view.scaleY);
  expect([view.x, view.y]).toEqual([12, 112]);
});

test('a long thin picture is stretched, or it would vanish', () => {
  const view = fitPicture(10_000, 10, 424, 224);
  expect(view.scaleY).toBeGreaterThan(100 * view.scaleX);
});

test('small pictures are enlarged to a limit', () => {
  expect(fitPicture(3, 3, 1000, 1000).scaleX).toBe(48);
});

test('zooming keeps the point under the pointer', () => {
  const before = fitPicture(100, 100, 424, 424);
  const after = zoomAt(before, 200, 100, 2);
  expect((200 - after.x) / after.scaleX).toBeCloseTo((200 - before.x) / before.scaleX);
  expect((100 - after.y) / after.scaleY).toBeCloseTo((100 - before.y) / before.scaleY);
});

test('the marked element is described; one that is skipped or in another slice is named', () => {
  const raster = { pick: (x: number, y: number) => ({ index: [0, 2 * y, 2 * x] as (number | ':')[], offsets: [x] }) };
  const text = (marked: number[], mark: [number, number] | null) => markedText(raster, marked, mark, ({ index }) => `at ${index}`);
  expect(text([0, 4, 2], [1, 2])).toBe('at 0,4,2');
  expect(text([0, 5, 2], [1, 2])).toBe('[0, 5, 2] is not drawn here. Table shows it.');
  expect(text([1, 4, 2], null)).toBe('[1, 4, 2] is not drawn here. Table shows it.');
});
