import { expect, test } from 'vitest';
import { nameColumns, shortLine } from './logic_tests';

test('names stand before what was found of them, of which one column is left', () => {
  expect(nameColumns(['variable', 'gradient', 'analytic', 'numeric', 'error'])).toBe(2);
  expect([nameColumns(['tensor', 'op_type', 'line']), nameColumns(['tensor', 'gradient'])]).toEqual([1, 1]);
});

test('a line of the program loses the folders of its file, and nothing that divides', () => {
  expect(shortLine('/home/me/a:b/net.py:13  z = x / y')).toBe('net.py:13  z = x / y');
  expect([shortLine('net.py:13  z = x / y'), shortLine('z = x / y')]).toEqual(['net.py:13  z = x / y', 'z = x / y']);
});
