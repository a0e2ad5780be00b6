import { expect, test } from 'vitest';
import { type Named, sentencePieces } from './sentence_links';

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
