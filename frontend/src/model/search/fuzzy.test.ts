import { describe, expect, test } from 'vitest';
import { TextColumn } from '../../lib/arrays/columns';
import { findFuzzy, fuzzyMatch, fuzzyTerms } from './fuzzy';

const marked = (text: string, query: string): string => {
  const { score, places } = fuzzyMatch(text, fuzzyTerms(query));
  return score < 0
    ? 'none'
    : [...text]
        .map((letter, i) => (places.includes(i) ? `[${letter}]` : letter))
        .join('')
        .replaceAll('][', '');
};

test.each([
  ['net/dense/MatMul', 'mtml', 'net/dense/[M]a[tM]u[l]'],
  ['net/dense/MatMul', 'mm', 'net/dense/[M]at[M]ul'],
  ['net/matrix/MatMul', 'mat', 'net/matrix/[Mat]Mul'],
  ['net/add_1/AddV2_and_d', 'add', 'net/add_1/[Add]V2_and_d'],
  ['net/block_3/Relu', 'b3 relu', 'net/[b]lock_[3]/[Relu]'],
  ['train.py:17', 'tr17', '[tr]ain.py:[17]'],
  ['View: Timeline', 'time', 'View: [Time]line'],
  ['Überschuss', 'über', '[Über]schuss'],
  ['MatMul', 'lm', 'none'],
  ['MatMul', 'mat x', 'none'],
])('%s fits %s', (text, query, wanted) => {
  expect(marked(text, query)).toBe(wanted);
});

const best = async (names: readonly string[], query: string): Promise<string> => {
  const [first] = (await findFuzzy(names, fuzzyTerms(query), 1, new AbortController().signal)) ?? [];
  return names[first?.row ?? -1] ?? '';
};

test('a less likely row comes later, but is found', async () => {
  const penalty = (row: number): number => (row === 0 ? 32 : 0);
  const found = await findFuzzy(['net/dense_b', 'net/dense_a'], fuzzyTerms('dense'), 2, new AbortController().signal, penalty);
  expect(found?.map(({ row }) => row)).toEqual([1, 0]);
});

describe('what weighs more', () => {
  test.each([
    ['the last part of a path', 'relu', ['relu/conv/Conv2D', 'net/conv/Relu']],
    ['the whole of it', 'relu', ['net/conv/Relu_1', 'net/conv/Relu']],
    ['together', 'soft', ['sum_of_the/fourth', 'net/softmax']],
    ['starts of words', 'cs', ['net/Cosh', 'net/ColourScale']],
    ['terms one after the other', 'block 1 soft', ['net/block_0_1/Softmax', 'net/longer_block_1_1/Softmax']],
    ['the shorter', 'dense', ['a/much/longer/dense_1', 'a/dense_1']],
  ])('%s', async (_, query, names) => {
    expect(await best(names, query)).toBe(names[1]);
  });
});

const endless = new AbortController().signal;

test('a column of names and a list of them give the same, beyond ASCII too', async () => {
  const names = ['net/dense/MatMul', 'loss/Überschuss', 'net/İnput', 'net/Relu'];
  for (const query of ['über', 'mm', 'net', 'nput'])
    expect(await findFuzzy(TextColumn.of(names), fuzzyTerms(query), 9, endless)).toEqual(
      await findFuzzy(names, fuzzyTerms(query), 9, endless),
    );
});

test('only the best are told, the best first', async () => {
  const names = Array.from({ length: 5000 }, (_, i) => (i === 4000 ? 'net/Relu' : `net/block_${i}/Relu_${i}`));
  const found = await findFuzzy(TextColumn.of(names), ['relu'], 3, endless);
  expect(found?.map(({ row }) => row)).toEqual([4000, 0, 1]);
});

test('a search that is not wanted any more ends without an answer', async () => {
  const stopped = new AbortController();
  const names = { length: 1e9, at: () => 'net/Relu' };
  const answer = findFuzzy(names, ['relu'], 3, stopped.signal);
  stopped.abort();
  expect(await answer).toBeNull();
});
