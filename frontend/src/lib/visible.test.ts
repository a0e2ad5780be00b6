import { expect, test } from 'vitest';
import { visible } from './visible';

test.each([
  ['dense/Relu', 'dense/Relu'],
  ['größe/λ', 'größe/λ'],
  ['a\u202egpj.exe', 'a\\u202egpj.exe'],
  ['two\nlines\u200b', 'two\\u000alines\\u200b'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});
