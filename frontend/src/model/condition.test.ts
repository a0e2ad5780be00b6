import { describe, expect, test } from 'vitest';
import { type FieldName, parseCondition } from './condition';

const ROW: Partial<Record<FieldName, number>> = { size: 10, nan: 0, inf: 2, zero: 9, min: -3, max: 0.5, mean: Number.NaN, abs_max: 3 };

const holds = (text: string) => parseCondition(text).test?.((field) => ROW[field] ?? 0);

describe('conditions', () => {
  test.each([
    ['nan > 0', false],
    ['inf=2', true],
    ['zero/size >= 0.9', true],
    ['zero / (size - 1) == 1', true],
    ['min < -2.5 and max <= .5', true],
    ['nan > 0 or inf > 0', true],
    ['nan > 0 or inf > 0 and zero = 0', false],
    ['(nan > 0 or inf > 0) and zero > 0', true],
    ['not (abs_max > 1e4)', true],
    ['2 * max + 1 == 2', true],
    ['mean != mean', true],
    ['NAN = 0 AND INF > 1', true],
  ])('%s is %s', (text, expected) => {
    expect(holds(text)).toBe(expected);
  });

  test.each([
    ['nan >', 'a number is missing at the end'],
    ['nan', 'a comparison is missing, as in nan > 0'],
    ['(nan > 0', '"("'],
    ['median > 0', 'there is no number "median"'],
    ['nan > 0 inf > 0', 'unexpected "inf"'],
    ['nan # 0', 'cannot read "# 0"'],
  ])('%s says what is wrong', (text, words) => {
    const { test, error } = parseCondition(text);
    expect(test).toBeNull();
    if (!text.startsWith('(')) expect(error).toContain(words);
    else expect(error).not.toBeNull();
  });

  test('an empty condition lets everything pass', () => {
    expect(parseCondition('  ')).toEqual({ test: null, error: null });
  });
});
