import { expect, test } from 'vitest';
import type { RunEntry, RunList } from '../model/wire/answers';
import { applyChanges } from './live';

function run(id: string, last: number | null): RunEntry {
  return {
    id,
    name: id,
    created: 0,
    last_time: 0,
    snapshots: 10,
    nodes: 5,
    steps: { first: last === null ? null : 0, last, count: 1 },
    graphs: 1,
    workers: 1,
    nonfinite: 0,
    live: true,
    closed: false,
    error: null,
  };
}

const LIST: RunList = { logdir: 'logs', version: '1', cursor: 'a', runs: [run('one', 5), run('two', null)] };
const change = (last_step: number | null) => ({ snapshots: 20, graphs: 2, last_step, live: false, closed: true });

test('a run that grew takes over its new numbers; the others stay as they are', () => {
  const next = applyChanges(LIST, { cursor: 'b', runs: { one: change(9) } });
  expect(next?.cursor).toBe('b');
  expect(next?.runs[0]).toMatchObject({ snapshots: 20, graphs: 2, live: false, closed: true, steps: { first: 0, last: 9 } });
  expect(next?.runs[1]).toBe(LIST.runs[1]);
});

test('a run that is gone leaves the list', () => {
  expect(applyChanges(LIST, { cursor: 'b', runs: { one: null } })?.runs.map(({ id }) => id)).toEqual(['two']);
});

test('a new run, or the first step of one, needs the whole list', () => {
  expect(applyChanges(LIST, { cursor: 'b', runs: { three: change(0) } })).toBeNull();
  expect(applyChanges(LIST, { cursor: 'b', runs: { two: change(0) } })).toBeNull();
});
