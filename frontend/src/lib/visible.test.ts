import { expect, test } from 'vitest';
import { visible } from './visible';

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
