import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { halfWritten, indexOfStep, latestWhole, moveStep, nearestStep, neighbourSteps, snapshotAt, visitsOf, within } from './step_list';

const STEPS = [0, 5, 10, 20, 100];

test.each([
  [0, 0],
  [20, 3],
  [100, 4],
  [7, -1],
  [null, -1],
])('indexOfStep(%j) is %d', (step, index) => {
  expect(indexOfStep(STEPS, step)).toBe(index);
});

test.each([
  [-3, 0],
  [7, 5],
  [8, 10],
  [15, 10],
  [999, 100],
])('nearestStep(%d) is %d', (step, nearest) => {
  expect(nearestStep(STEPS, step)).toBe(nearest);
});

test.each([
  [10, 1, 20],
  [10, -1, 5],
  [100, 1, 100],
  [0, -1, 0],
  [0, 99, 100],
  [11, 1, 20],
  [null, -1, 100],
])('from %j by %d leads to %d', (step, offset, expected) => {
  expect(moveStep(STEPS, step, offset)).toBe(expected);
});

test('without steps there is nowhere to go', () => {
  expect([moveStep([], 3, 1), nearestStep([], 3)]).toEqual([null, null]);
});

test.each([
  [7, 5, 10],
  [10, 5, 20],
  [-1, null, 0],
  [100, 20, null],
])('neighbours of %d are %j and %j', (step, before, after) => {
  expect(neighbourSteps(STEPS, step)).toEqual({ before, after });
});

test('a range of steps', () => {
  const step = [0, 10, 20, 30];
  const columns = { step, time: step, snapshots: step, nan: step, inf: step };
  expect(within(columns, { first: 5, last: 20 })).toEqual({
    step: [10, 20],
    time: [10, 20],
    snapshots: [10, 20],
    nan: [10, 20],
    inf: [10, 20],
  });
  expect(within(columns, { first: 30, last: 99 })?.step).toEqual([30]);
  expect(within(columns, { first: 11, last: 19 })).toBeNull();
  expect(within(columns, { first: 31, last: 99 })).toBeNull();
});

test('only the newest step of a live run, with fewer snapshots than the one before, is still being written', () => {
  const growing = { snapshots: [40, 40, 12] };
  expect(halfWritten(growing, 2, true)).toBe(true);
  expect(halfWritten(growing, 2, false)).toBe(false);
  expect(halfWritten(growing, 1, true)).toBe(false);
  expect(halfWritten({ snapshots: [40, 40] }, 1, true)).toBe(false);
  expect(halfWritten({ snapshots: [3] }, 0, true)).toBe(false);
  expect(halfWritten({ snapshots: [] }, -1, true)).toBe(false);
});

test('the latest step is the one before the newest while that is half written', () => {
  const growing = { snapshots: [40, 40, 12] };
  expect([latestWhole(growing, true), latestWhole(growing, false), latestWhole({ snapshots: [] }, true)]).toEqual([1, 2, -1]);
});

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
