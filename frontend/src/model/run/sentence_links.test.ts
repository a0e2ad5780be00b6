import { describe, expect, test } from 'vitest';
import { hintPieces, type Named, sentencePieces } from './sentence_links';

const known: Named = {
  node: (name) => ['net/dense/Relu', 'loss/Log', 'Log'].includes(name),
  layer: (path) => ['net/dense', 'dense'].includes(path),
  step: (step) => step < 100,
};

const links = (sentence: string): string[] =>
  sentencePieces(sentence, known).flatMap((piece) => (piece.kind === 'text' ? [] : [`${piece.kind} ${piece.text}`]));

test.each<[string, string[]]>([
  ['log(0) = -inf: 24 elements of net/dense/Relu:0 are exactly 0.', ['tensor net/dense/Relu:0']],
  ['None of the elements of net/dense/Relu:0.', ['tensor net/dense/Relu:0']],
  ['At step 12, the layer dense (net/dense) has none.', ['step 12', 'layer dense', 'layer net/dense']],
  ['From step 400 on.', []],
  ['Log of loss/Log, made by train.py:17: see there.', ['tensor loss/Log', 'line train.py:17']],
  ['a dense layer of nowhere/Relu:0 and 3:0', []],
  ['Log:0 is a tensor, too', ['tensor Log:0']],
  ['', []],
])('%s', (sentence, wanted) => {
  expect(links(sentence)).toEqual(wanted);
  const pieces = sentencePieces(sentence, known);
  expect(pieces.map(({ text }) => text).join('')).toBe(sentence);
});

const names = (hint: string) => hintPieces(hint).flatMap(({ text, name }) => (name ? [text] : []));
const whole = (hint: string) =>
  hintPieces(hint)
    .map(({ text }) => text)
    .join('');

describe('hintPieces', () => {
  test('takes names out of what is proposed', () => {
    expect(hintPieces("Did you mean 'dense/MatMul' or 'dense_1/MatMul'?")).toEqual([
      { text: 'Did you mean ', name: false },
      { text: 'dense/MatMul', name: true },
      { text: ' or ', name: false },
      { text: 'dense_1/MatMul', name: true },
      { text: '?', name: false },
    ]);
  });

  test('reads names as Python quotes them', () => {
    expect(names(`Did you mean "it's", 'a\\\\b' or 'c'?`)).toEqual(["it's", 'a\\b', 'c']);
  });

  test('leaves other hints whole', () => {
    const hint = "List the captured tensors with 'tensortap show RUN', or with run.tensors in Python.";
    expect(hintPieces(hint)).toEqual([{ text: hint, name: false }]);
    expect(hintPieces('')).toEqual([]);
  });

  test('does not take escaped bytes for a name', () => {
    expect(names("Did you mean '\\x00a' or 'b'?")).toEqual(['b']);
    expect(whole("Did you mean '\\x00a' or 'b'?")).toBe("Did you mean '\\x00a' or b?");
  });
});
