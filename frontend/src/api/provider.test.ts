import { expect, test } from 'vitest';
import { readSnapshot, type WireSnapshot } from './decode';
import { pathOf, queryText } from './provider';

test('queries leave out what is not set', () => {
  expect(queryText({ a: 1, b: null, c: undefined, d: '', e: false, f: true, g: 'x y' })).toBe('?a=1&f=1&g=x+y');
  expect(queryText()).toBe('');
});

test('names keep their slashes in a path', () => {
  expect(pathOf('a b/c?d')).toBe('a%20b/c%3Fd');
});

test('numbers that JSON does not have arrive by name', () => {
  const wire = { min: 'NaN', max: 'Infinity', mean: '-Infinity', std: 2, nan: 1 } as unknown as WireSnapshot;
  const { min, max, mean, std, l2 } = readSnapshot(wire);
  expect([min, max, mean, std, l2]).toEqual([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2, Number.NaN]);
});
