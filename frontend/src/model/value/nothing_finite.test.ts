import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { lastFiniteStep, nothingFinite } from './nothing_finite';

const row = (size: number, nan: number, pos_inf = 0, neg_inf = 0, step = 0) => ({ size, nan, pos_inf, neg_inf, step }) as Snapshot;

test.each([
  [row(24, 24), 'All 24 elements are NaN.'],
  [row(1, 1), 'The only element is NaN.'],
  [row(3, 0, 3), 'All 3 elements are +Inf.'],
  [row(3, 0, 0, 3), 'All 3 elements are -Inf.'],
  [row(5, 2, 2, 1), 'None of the 5 elements is finite: 2 NaN, 3 Inf.'],
  [row(5, 4), null],
  [row(0, 0), null],
])('%j: %s', (found, sentence) => {
  expect(nothingFinite(found)).toBe(sentence);
});

test('the next look is the last finite step before, else the first after', () => {
  const rows = [row(2, 2, 0, 0, 0), row(2, 1, 0, 0, 5), row(2, 0, 0, 0, 10), row(2, 2, 0, 0, 15), row(2, 0, 0, 0, 20)];
  expect([15, 20, 0].map((step) => lastFiniteStep(rows, step))).toEqual([10, 10, 5]);
  expect(lastFiniteStep([row(2, 2)], 0)).toBeNull();
});

test('of what was not counted nothing is said', () => {
  expect(nothingFinite(row(4, Number.NaN))).toBeNull();
});
