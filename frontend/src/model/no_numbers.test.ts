import { expect, test } from 'vitest';
import { noNumbers } from './no_numbers';

const row = (dtype: string, size: number) => ({ dtype, size });

test('strings and tensors without elements have no numbers; how many snapshots there are is said', () => {
  expect(noNumbers([row('string', 3), row('string', 0)])).toContain('Text has no numbers to draw. There are 2 snapshots of it');
  expect(noNumbers([row('float32', 0)])).toBe('A tensor without elements has no numbers to draw. There is 1 snapshot of it.');
});

test('one that has numbers is drawn, and without a snapshot nothing is said', () => {
  expect(noNumbers([row('float32', 0), row('float32', 2)])).toBeNull();
  expect(noNumbers([])).toBeNull();
});
