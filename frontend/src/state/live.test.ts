import { expect, test } from 'vitest';
import type { RunEntry, RunList, Unread } from '../model/wire/answers';
import { applyChanges, firstUnread, hideUnread, percent, readSoFar, shownReading, unreadCount } from './live';

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

test('the current run reports how far it was read, until it is done or dismissed', () => {
  const all = { a: { done: 30, total: 60 }, b: { done: 0, total: 9 } };
  expect(shownReading('a', all, null)).toEqual({ done: 30, total: 60 });
  expect(shownReading('a', all, 'b')).toEqual({ done: 30, total: 60 });
  expect(shownReading('a', all, 'a')).toBeNull();
  expect(shownReading('a', {}, null)).toBeNull();
  expect(shownReading(null, all, null)).toBeNull();
});

test('it is not 100 % before it is done', () => {
  expect(percent({ done: 0, total: 0 })).toBe(0);
  expect(percent({ done: 1, total: 3 })).toBe(33);
  expect(percent({ done: 9_999, total: 10_000 })).toBe(99);
});

test('folders that cannot be looked into are put away until they are others', () => {
  const folder = (name: string) => ({ folder: name, reason: 'Permission denied', hint: 'Let it be read' });
  const [may, june] = [folder('may'), folder('june')] as const;
  const told = (unread: Unread[], count: number) => readSoFar({ unread, unread_count: count });
  told([may], 30);
  expect([firstUnread.value, unreadCount.value]).toEqual([may, 30]);
  hideUnread();
  told([may], 31);
  expect(firstUnread.value).toBeNull();
  told([may, june], 31);
  expect(firstUnread.value).toBe(may);
  told([], 0);
  expect([firstUnread.value, unreadCount.value]).toEqual([null, 0]);
});
