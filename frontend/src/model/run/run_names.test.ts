import { expect, test } from 'vitest';
import { inSeveralLogdirs, runNames } from './run_names';

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
