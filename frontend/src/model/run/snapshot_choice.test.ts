import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { snapshotAt, visitsOf } from './snapshot_choice';

const row = (visit: number, time: number, worker: string, nan = 0) => ({ visit, time, worker, nan, pos_inf: 0, neg_inf: 0 }) as Snapshot;

test('the wanted visit, else the first one, of the worker that wrote last', () => {
  const rows = [row(2, 5, 'a'), row(0, 1, 'a'), row(0, 3, 'b'), row(0, 2, 'c')];
  expect(visitsOf(rows)).toEqual([0, 2]);
  expect(snapshotAt(rows, 2)?.worker).toBe('a');
  expect(snapshotAt(rows, null)?.worker).toBe('b');
  expect(snapshotAt(rows, 7)?.worker).toBe('b');
  expect(snapshotAt([], 0)).toBeNull();
});

test('where no visit is wanted, the first that has a NaN', () => {
  const rows = [row(0, 1, 'a'), row(2, 1, 'a', 3), row(1, 1, 'a', 1)];
  expect([snapshotAt(rows, null)?.visit, snapshotAt(rows, 0)?.visit, snapshotAt(rows, 2)?.visit]).toEqual([1, 0, 2]);
});
