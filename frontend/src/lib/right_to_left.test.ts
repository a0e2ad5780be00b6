import { expect, test } from 'vitest';
import { splitDirections } from './right_to_left';

test.each([
  ['src/train.py', ['src/train.py']],
  ['src/\u05e9\u05dc\u05d5\u05dd #?%2F.py', ['src/', '\u05e9\u05dc\u05d5\u05dd', ' #?%2F.py']],
  ['\u0645\u06cc\u200c\u062e \u0646\u0627\u0645\u0647/1', ['', '\u0645\u06cc\u200c\u062e \u0646\u0627\u0645\u0647', '/1']],
])('%j', (text, parts) => {
  expect(splitDirections(text)).toEqual(parts);
});
