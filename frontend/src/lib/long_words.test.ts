import { expect, test } from 'vitest';
import { cutLongWords } from './long_words';

test('words of real programs stay as they are', () => {
  const text = `17 elements of ${'block/'.repeat(16)} are exactly 0.`;
  expect(cutLongWords(text)).toEqual([text]);
  expect(cutLongWords('')).toEqual([]);
});

test('an overlong one is cut in its middle, between letters', () => {
  const name = `${'a'.repeat(300)}👩/${'z'.repeat(39)}`;
  const middle = `${'a'.repeat(260)}👩`;
  expect(cutLongWords(`of ${name} are 0.`)).toEqual(['of ', { start: 'a'.repeat(40), middle, end: `/${'z'.repeat(39)}` }, ' are 0.']);
});
