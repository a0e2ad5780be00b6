import { expect, test } from 'vitest';
import type { GraphEntry, WorkerEntry } from './answers';
import { byRank, graphChoices, inSeveralLogdirs, missingRunName, runNames, workerName, worstFirst, writingState } from './names';

const RUNS = [
  { id: '1', name: 'cnn', logdir: 'may/logs' },
  { id: '2', name: 'cnn', logdir: 'june/logs' },
  { id: '3', name: 'rnn', logdir: 'june/logs' },
];

test('runs of one name are called after their log directories, too', () => {
  expect([...runNames(RUNS).values()]).toEqual(['may/logs/cnn', 'june/logs/cnn', 'rnn']);
  expect([...runNames(RUNS.slice(1)).values()]).toEqual(['cnn', 'rnn']);
});

test('a server that does not tell log directories tells names', () => {
  expect([...runNames(RUNS.map(({ id, name }) => ({ id, name }))).values()]).toEqual(['cnn', 'cnn', 'rnn']);
});

test('whether runs lie in several log directories', () => {
  expect([inSeveralLogdirs(RUNS), inSeveralLogdirs(RUNS.slice(1)), inSeveralLogdirs([])]).toEqual([true, false, false]);
});

const worker = (id: string, rank: number | null) => ({ id, rank }) as WorkerEntry;

test('a worker is called by its rank where that is its alone, else by its id', () => {
  const workers = [worker('a-1', 0), worker('a-2', 1), worker('b-3', 1), worker('c-4', null)];
  expect(['a-1', 'a-2', 'b-3', 'c-4', 'gone'].map((id) => workerName(id, workers))).toEqual(['rank 0', 'a-2', 'b-3', 'c-4', 'gone']);
});

test('workers are listed by rank, those without one behind, whichever began first', () => {
  const workers = [worker('c-4', null), worker('b-2', 1), worker('d-5', null), worker('a-1', 0)];
  expect(byRank(workers).map(({ id }) => id)).toEqual(['a-1', 'b-2', 'c-4', 'd-5']);
});

test('a worker that was killed is neither closed nor live', () => {
  expect(writingState({ closed: true, live: false })).toBe('closed');
  expect(writingState({ closed: false, live: true })).toBe('live');
  expect(writingState({ closed: false, live: false })).toBe('not closed');
});

function graph(id: string, name: string, first: number | null, last: number | null, snapshots: number): GraphEntry {
  return { id, name, way: '', nodes: 1200, edges: 0, functions: 0, snapshots, nonfinite: 0, steps: { first, last, count: 1 }, workers: [] };
}

test('graphs of one name are told apart by their steps', () => {
  const choices = graphChoices([graph('a', 'step', 0, 55, 7500), graph('b', 'step', 60, 60, 10), graph('c', 'predict', 61, 62, 1)]);
  expect(choices.map((choice) => choice.name)).toEqual(['step · steps 0…55', 'step · step 60', 'predict']);
  expect(choices[0]?.detail).toBe('steps 0…55 · 7,500 snapshots · 1,200 nodes');
});

test('graphs without a name, or without snapshots, have something to be called by', () => {
  const choices = graphChoices([graph('-', '', 0, 1, 2), graph('9f', '', null, null, 0)]);
  expect(choices.map(({ name }) => name)).toEqual(['without a graph', '9f']);
  expect(choices[1]?.detail).toBe('no snapshots · 1,200 nodes');
});

test('workers that lost data, or wrote less than others, come first; the rest by rank', () => {
  const worker = (rank: number, snapshots: number, dropped = 0) =>
    ({ rank, snapshots, dropped, damage: [] as string[] }) as unknown as WorkerEntry;
  const workers = [worker(2, 100), worker(0, 99), worker(3, 60), worker(1, 100, 4)];
  expect(worstFirst(workers).map(({ rank }) => rank)).toEqual([1, 3, 0, 2]);
});

test('a run that is gone has the name in its id', () => {
  expect(missingRunName('cnn-slow-1a2b3c4d')).toBe('cnn-slow (not found)');
  expect(missingRunName('cnn')).toBe('cnn (not found)');
});
