import { expect, test } from 'vitest';
import { cutLongWords, splitDirections, visible } from './visible_text';

test.each([
  ['dense/Relu', 'dense/Relu'],
  ['größe/λ', 'größe/λ'],
  ['a\u202egpj.exe', 'a\\u202egpj.exe'],
  ['two\nlines\u200b', 'two\\u000alines\\u200b'],
  ['a\u3164b\uffa0\u2800\ufe0f', 'a\\u3164b\\uffa0\\u2800\\ufe0f'],
  ['a\u{e0041}b\u200dc', 'a\\u{e0041}b\\u200dc'],
  ['\u{1f469}\u200d\u{1f469}\u200d\u{1f467}/\u2764\ufe0f\ufe0f', '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}/\u2764\ufe0f\\ufe0f'],
  ['1\ufe0f\u20e3', '1\ufe0f\u20e3'],
  ['\u0645\u06cc\u200c\u062e', '\u0645\u06cc\u200c\u062e'],
  ['\u0915\u094d\u200d\u0937', '\u0915\u094d\u200d\u0937'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each([
  ['src/train.py', ['src/train.py']],
  ['src/\u05e9\u05dc\u05d5\u05dd #?%2F.py', ['src/', '\u05e9\u05dc\u05d5\u05dd', ' #?%2F.py']],
  ['\u0645\u06cc\u200c\u062e \u0646\u0627\u0645\u0647/1', ['', '\u0645\u06cc\u200c\u062e \u0646\u0627\u0645\u0647', '/1']],
])('%j', (text, parts) => {
  expect(splitDirections(text)).toEqual(parts);
});

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
