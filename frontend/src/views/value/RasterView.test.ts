import { expect, test } from 'vitest';
import { fitPicture, zoomAt } from './RasterView';

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
