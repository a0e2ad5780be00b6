import { expect, test } from 'vitest';
import type { WorkerEntry } from '../wire/answers';
import { byRank, workerName } from './worker_names';

const worker = (id: string, rank: number | null) => ({ id, rank }) as WorkerEntry;

test('a worker is called by its rank where that is its alone, else by its id', () => {
  const workers = [worker('a-1', 0), worker('a-2', 1), worker('b-3', 1), worker('c-4', null)];
  expect(['a-1', 'a-2', 'b-3', 'c-4', 'gone'].map((id) => workerName(id, workers))).toEqual(['rank 0', 'a-2', 'b-3', 'c-4', 'gone']);
});

test('workers are listed by rank, those without one behind, whichever began first', () => {
  const workers = [worker('c-4', null), worker('b-2', 1), worker('d-5', null), worker('a-1', 0)];
  expect(byRank(workers).map(({ id }) => id)).toEqual(['a-1', 'b-2', 'c-4', 'd-5']);
});
