import { expect, test } from 'vitest';
import type { Snapshot } from './answers';
import { snapshotAt, visitsOf } from './snapshot_choice';

const row = (visit: number, time: number, worker: string) => ({ visit, time, worker }) as Snapshot;

test('the wanted visit, else the first one, of the worker that wrote last', () => {
  const rows = [row(2, 5, 'a'), row(0, 1, 'a'), row(0, 3, 'b'), row(0, 2, 'c')];
  expect(visitsOf(rows)).toEqual([0, 2]);
  expect(snapshotAt(rows, 2)?.worker).toBe('a');
  expect(snapshotAt(rows, null)?.worker).toBe('b');
  expect(snapshotAt(rows, 7)?.worker).toBe('b');
  expect(snapshotAt([], 0)).toBeNull();
});
