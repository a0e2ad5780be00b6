import { expect, test } from 'vitest';
import { keyName, placeAfterKey, rowAfterKey } from './keyboard';

test('rows: keys move by one, by a page, to the ends, and stay inside', () => {
  const from = (key: string, at: number) => rowAfterKey(key, at, 100, 10);
  expect([from('ArrowDown', 5), from('ArrowUp', 5), from('PageDown', 5), from('PageUp', 5)]).toEqual([6, 4, 15, 0]);
  expect([from('Home', 5), from('End', 5), from('ArrowDown', 99), from('ArrowUp', 0)]).toEqual([0, 99, 99, 0]);
  expect(from('ArrowRight', 5)).toBeNull();
  expect(rowAfterKey('ArrowDown', 0, 0, 10)).toBeNull();
});

test('elements: Home and End go along the row, with Ctrl to the corners', () => {
  const from = (key: string, ctrlKey = false) =>
    placeAfterKey({ key, ctrlKey, metaKey: false }, { y: 4, x: 2 }, { rows: 50, columns: 8, page: 20 });
  expect(from('ArrowLeft')).toEqual({ y: 4, x: 1 });
  expect(from('ArrowDown')).toEqual({ y: 5, x: 2 });
  expect(from('PageDown')).toEqual({ y: 24, x: 2 });
  expect([from('Home'), from('End')]).toEqual([
    { y: 4, x: 0 },
    { y: 4, x: 7 },
  ]);
  expect([from('Home', true), from('End', true)]).toEqual([
    { y: 0, x: 0 },
    { y: 49, x: 7 },
  ]);
  expect(from('a')).toBeNull();
});

test.each([
  ['Ctrl+K', 'MacIntel', '⌘ K'],
  ['Ctrl+Home', 'iPad', '⌘ Home'],
  ['Ctrl+K', 'Linux x86_64', 'Ctrl+K'],
  ['n', 'MacIntel', 'n'],
])('%s on %s is %s', (name, platform, told) => {
  expect(keyName(name, platform)).toBe(told);
});
