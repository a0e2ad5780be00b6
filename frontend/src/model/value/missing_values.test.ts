import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { hasNoStatistics, lastFiniteStep, noNumbers, nothingFinite } from './missing_values';

const row = (dtype: string, size: number) => ({ dtype, size });

test('strings and tensors without elements have no numbers; how many snapshots there are is said', () => {
  expect(noNumbers([row('string', 3), row('string', 0)])).toContain('Text cannot be plotted (2 snapshots)');
  expect(noNumbers([row('float32', 0)])).toBe('The tensor is empty, so there is nothing to plot (1 snapshot).');
});

test('one that has numbers is drawn, and without a snapshot nothing is said', () => {
  expect(noNumbers([row('float32', 0), row('float32', 2)])).toBeNull();
  expect(noNumbers([])).toBeNull();
});

test('what the source of an import does not tell is no empty chart', () => {
  const unknown = Number.NaN;
  const counts = {
    nan: unknown,
    pos_inf: unknown,
    neg_inf: unknown,
    zero: unknown,
    negative: unknown,
    positive: unknown,
    subnormal: unknown,
  };
  const statistics = { min: unknown, max: unknown, mean: unknown, std: unknown, l2: unknown, abs_max: unknown };
  const unreported = { dtype: 'float32', size: 9, ...counts, ...statistics };
  expect(noNumbers([unreported, unreported])).toContain('have no statistics or histograms (2 snapshots)');
  expect(hasNoStatistics({ ...unreported, size: unknown })).toBe(true);
  expect(hasNoStatistics({ ...unreported, nan: 9 })).toBe(false); // all of them are NaN
  expect(noNumbers([unreported, { ...unreported, abs_max: 1 }])).toBeNull();
});

const withCounts = (size: number, nan: number, pos_inf = 0, neg_inf = 0, step = 0) => ({ size, nan, pos_inf, neg_inf, step }) as Snapshot;

test.each([
  [withCounts(24, 24), 'All 24 elements are NaN.'],
  [withCounts(1, 1), 'The only element is NaN.'],
  [withCounts(3, 0, 3), 'All 3 elements are +Inf.'],
  [withCounts(3, 0, 0, 3), 'All 3 elements are -Inf.'],
  [withCounts(5, 2, 2, 1), 'None of the 5 elements is finite: 2 NaN, 3 Inf.'],
  [withCounts(5, 4), null],
  [withCounts(0, 0), null],
])('%j: %s', (found, sentence) => {
  expect(nothingFinite(found)).toBe(sentence);
});

test('the next look is the last finite step before, else the first after', () => {
  const rows = [
    withCounts(2, 2, 0, 0, 0),
    withCounts(2, 1, 0, 0, 5),
    withCounts(2, 0, 0, 0, 10),
    withCounts(2, 2, 0, 0, 15),
    withCounts(2, 0, 0, 0, 20),
  ];
  expect([15, 20, 0].map((step) => lastFiniteStep(rows, step))).toEqual([10, 10, 5]);
  expect(lastFiniteStep([withCounts(2, 2)], 0)).toBeNull();
});

test('of what was not counted nothing is said', () => {
  expect(nothingFinite(withCounts(4, Number.NaN))).toBeNull();
});
