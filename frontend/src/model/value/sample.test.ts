import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { keptPart, samplePosition, unravel } from './sample';

// As tensortap.dump.Sample(count, how, seed).positions(size) gives them.
test.each([
  [{ count: 5, how: 'random', seed: 7 }, 1000, [21, 256, 586, 660, 948]],
  [{ count: 5, how: 'even', seed: 0 }, 1003, [0, 200, 401, 601, 802]],
  [{ count: 4, how: 'random', seed: 4294967295 }, 1e12, [43108813815, 418404719405, 650118360692, 785673843075]],
] as const)('%j of %d stands where the writer took it', (sample, size, positions) => {
  expect(positions.map((_, i) => samplePosition(sample, size, i))).toEqual(positions);
});

test('an index out of a position', () => {
  expect(unravel(23, [2, 3, 4])).toEqual([1, 2, 3]);
  expect(unravel(0, [])).toEqual([]);
});

test('a sample has one dimension, at most as long as the whole', () => {
  const row = { shape: [4, 5], size: 20, sample: { count: 6, how: 'even', seed: 0 } } as unknown as Snapshot;
  expect(keptPart(row)).toMatchObject({ shape: [6], size: 6 });
  expect(keptPart({ ...row, sample: { count: 99, how: 'even', seed: 0 } })).toMatchObject({ shape: [20], size: 20 });
  expect(keptPart({ ...row, sample: null }).shape).toEqual([4, 5]);
});
