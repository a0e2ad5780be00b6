import { expect, test } from 'vitest';
import { pythonTokens } from './python_tokens';

const kinds = (...lines: string[]) => pythonTokens(lines).map((tokens) => tokens.map(({ kind, text }) => `${kind}:${text}`));

test('a line is cut into what is coloured alike', () => {
  expect(kinds('def loss(y):  # 0 · log')[0]).toEqual(['keyword:def', 'plain: ', 'definition:loss', 'plain:(y):  ', 'comment:# 0 · log']);
  expect(kinds("x = 'if #' + 1e-3 * y2")[0]).toEqual(['plain:x = ', "string:'if #'", 'plain: + ', 'number:1e-3', 'plain: * y2']);
  expect(kinds('@tf.function')[0]).toEqual(['decorator:@tf.function']);
});

test('a string of three quotes runs over lines', () => {
  expect(kinds('a = """one', 'if two', 'three""" or b')).toEqual([
    ['plain:a = ', 'string:"""one'],
    ['string:if two'],
    ['string:three"""', 'plain: ', 'keyword:or', 'plain: b'],
  ]);
  expect(kinds("'''whole''' + 1")[0]).toEqual(["string:'''whole'''", 'plain: + ', 'number:1']);
});

test('whatever stands there, no letter is lost', () => {
  for (const line of [
    '',
    '"',
    "f'{x}' 'open",
    '\\',
    '"""',
    'ifx = elsewhere',
    '\u{1f600} = 0xff_ff',
    '""" a """ b """',
    '@',
    'x'.repeat(5000),
  ])
    expect(
      pythonTokens([line])[0]!
        .map(({ text }) => text)
        .join(''),
    ).toBe(line);
});
