import { expect, test } from 'vitest';
import type { Unread } from '../model/wire/answers';
import { firstUnread, hideUnread, percent, readSoFar, shownReading, unreadCount } from './reading';

test('the run on show tells how far it was read, until it is done or put away', () => {
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
