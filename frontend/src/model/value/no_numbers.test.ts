import { expect, test } from 'vitest';
import { isUntold, noNumbers } from './no_numbers';

const row = (dtype: string, size: number) => ({ dtype, size });

test('strings and tensors without elements have no numbers; how many snapshots there are is said', () => {
  expect(noNumbers([row('string', 3), row('string', 0)])).toContain('Text has no numbers to draw. There are 2 snapshots of it');
  expect(noNumbers([row('float32', 0)])).toBe('A tensor without elements has no numbers to draw. There is 1 snapshot of it.');
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
  const untold = { dtype: 'float32', size: 9, ...counts, ...statistics };
  expect(noNumbers([untold, untold])).toContain('tells neither statistics nor histograms of it. There are 2 snapshots');
  expect(isUntold({ ...untold, size: unknown })).toBe(true);
  expect(isUntold({ ...untold, nan: 9 })).toBe(false); // all of them NaN: nothing is left to tell
  expect(noNumbers([untold, { ...untold, abs_max: 1 }])).toBeNull();
});
