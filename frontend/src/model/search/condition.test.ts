import { expect, test } from 'vitest';
import { conditionError } from './condition';

test.each([
  '  ',
  'nan > 0',
  'inf=2',
  'zero/size >= 0.9',
  'zero / (size - 1) == 1',
  'min < -2.5 and max <= .5',
  '(nan > 0 or inf > 0) and zero > 0',
  'not (abs_max > 1e4)',
  '2 * max + 1 == 2',
  "op == 'Relu' and zero / size > 0.9",
  'tensor ~ "conv|pool" or not layer != \'a/b\'',
  '((max)) > (1 + (2))',
])('%s can be read', (text) => {
  expect(conditionError(text)).toBeNull();
});

test.each([
  ['nan >', 'a number is missing at the end'],
  ['nan', 'Incomplete: add a comparison, e.g. nan > 0'],
  ['(nan > 0', '"("'],
  ['median > 0', 'there is no number "median"'],
  ['nan > 0 inf > 0', 'unexpected "inf"'],
  ['nan # 0', 'cannot read "# 0"'],
  ['op > 3', 'op is compared with a text in quotes'],
  ['op ==', 'op is compared with a text in quotes'],
  ['2x > 1', 'cannot read "2x > 1"'],
])('%s says what is wrong', (text, words) => {
  const error = conditionError(text);
  expect(error).not.toBeNull();
  if (!text.startsWith('(')) expect(error).toContain(words);
});
