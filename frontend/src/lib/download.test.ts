import { expect, test } from 'vitest';
import { csvField, csvText } from './download';

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['=1+1', "'=1+1"],
  ['-x', "'-x"],
  ['＝1+1', "'＝1+1"],
  ['\u001b[31m\u009b', '\\x1b[31m\\x9b'],
  [-3, '-3'],
  [Number.NaN, 'NaN'],
])('csvField(%j) is %s', (value, text) => {
  expect(csvField(value)).toBe(text);
});

test('csvText has a header and one line a row', () => {
  expect(csvText(['a', 'b'], [[1, 'x']])).toBe('a,b\r\n1,x\r\n');
});
