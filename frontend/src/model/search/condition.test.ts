import { expect, test } from 'vitest';
import { completions, toggleTerm, withTerm } from './condition';

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
