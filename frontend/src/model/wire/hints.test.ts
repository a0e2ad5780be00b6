import { describe, expect, test } from 'vitest';
import { hintPieces } from './hints';

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
    const hint = "'tensortap show RUN' lists the captured tensors; in Python, run.tensors does.";
    expect(hintPieces(hint)).toEqual([{ text: hint, name: false }]);
    expect(hintPieces('')).toEqual([]);
  });

  test('does not take escaped bytes for a name', () => {
    expect(names("Did you mean '\\x00a' or 'b'?")).toEqual(['b']);
    expect(whole("Did you mean '\\x00a' or 'b'?")).toBe("Did you mean '\\x00a' or b?");
  });
});
