import { expect, test } from 'vitest';
import { completions, conditionError, toggleTerm, withTerm } from './condition';
import cases from './filter_cases.json';

const READABLE = cases.filter((one) => 'rows' in one).map(({ text }) => text);
const REFUSED = cases.flatMap(({ text, error }) => (error === undefined ? [] : [[text, error] as const]));

/** The server's parser is tested with the same cases (tests/index/test_filters.py). */
test.each(READABLE)('%s can be read', (text) => {
  expect(conditionError(text)).toBeNull();
});

test.each(REFUSED)('%s says what is wrong', (text, error) => {
  expect(conditionError(text)).toContain(error);
});

test.each([
  '  ',
  'zero / (size - 1) == 1',
  'min < -2.5 and max <= .5',
  '(nan > 0 or inf > 0) and zero > 0',
  'not (abs_max > 1e4)',
  '2 * max + 1 == 2',
  'tensor ~ "conv|pool" or not layer != \'a/b\'',
  '((max)) > (1 + (2))',
])('%s can be read, too', (text) => {
  expect(conditionError(text)).toBeNull();
});

test.each(['(nan > 0', 'nan > 0)', 'nan > "a"', 'not', 'and'])('%s is refused', (text) => {
  expect(conditionError(text)).not.toBeNull();
});

test('the last word is completed, where one can stand', () => {
  expect(completions('ze')).toEqual(['zeros > 90%', 'zero > ', 'zero_share > ']);
  expect(completions('NaN and spa')).toEqual(['NaN and sparsity > 0.9', 'NaN and sparsity > ']);
  expect(completions('nan > 0 ')).toEqual([]);
  expect(completions('nan > 0 and ').length).toBeGreaterThan(10);
  expect(completions('')).toContain('NaN');
});

test('a term is joined to a condition, and taken out of it', () => {
  expect(toggleTerm('', 'NaN')).toBe('NaN');
  expect(toggleTerm('zeros > 90%', 'NaN')).toBe('zeros > 90% and NaN');
  expect(toggleTerm('zeros > 90% and NaN', 'zeros > 90%')).toBe('NaN');
  expect(toggleTerm('max > 1 or min < 0', 'NaN')).toBe('(max > 1 or min < 0) and NaN');
  expect(toggleTerm('NaN', 'NaN')).toBe('');
  expect([withTerm('step > 1 and NaN', 'NaN'), withTerm('NaN > 1', 'NaN')]).toEqual([true, false]);
});
