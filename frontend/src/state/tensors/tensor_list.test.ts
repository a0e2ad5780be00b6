import { expect, test, vi } from 'vitest';
import type { Query } from '../../api/provider';
import type { Snapshot } from '../../model/wire/answers';
import { PAGE, SnapshotPages } from './tensor_list';

const TOTAL = 1_000_000;
const rowsFrom = (offset: number, limit: number) =>
  Array.from({ length: Math.max(0, Math.min(limit, TOTAL - offset)) }, (_, i) => ({ step: offset + i }) as Snapshot);

function server(fail = false) {
  const asked: number[] = [];
  const aborted: number[] = [];
  const snapshots = (_run: string, query: Query, abort?: AbortSignal) => {
    const [offset, limit] = [Number(query.offset), Number(query.limit)];
    asked.push(offset);
    return new Promise<{ total: number; rows: Snapshot[] }>((resolve, reject) => {
      abort?.addEventListener('abort', () => {
        aborted.push(offset);
        reject(new DOMException('aborted', 'AbortError'));
      });
      setTimeout(() => (fail ? reject(new Error('gone')) : resolve({ total: TOTAL, rows: rowsFrom(offset, limit) })));
    });
  };
  return {
    asked,
    aborted,
    pages: new SnapshotPages({ snapshots, snapshotPlace: async () => null }, 'r', { sort: 'step' }, TOTAL, rowsFrom(0, PAGE)),
  };
}

test('only the pages in view are fetched, and once', async () => {
  const { asked, pages } = server();
  pages.load(0, 40);
  expect(asked).toEqual([]);
  expect(pages.row(39)?.step).toBe(39);
  pages.load(500_090, 500_110);
  pages.load(500_090, 500_110);
  expect(pages.row(500_100)).toBeNull();
  await vi.waitFor(() => expect(pages.row(500_100)?.step).toBe(500_100));
  expect(asked).toEqual([500_000, 500_100]);
  expect(pages.arrived.value).toBe(2);
});

test('what has scrolled out of view is given up; the end is the end', async () => {
  const { asked, aborted, pages } = server();
  pages.load(2000, 2040);
  pages.load(TOTAL - 10, TOTAL + 30);
  expect(aborted).toEqual([2000]);
  await vi.waitFor(() => expect(pages.row(TOTAL - 1)?.step).toBe(TOTAL - 1));
  expect(asked).toEqual([2000, TOTAL - PAGE]);
  expect([pages.row(TOTAL), pages.error.value]).toEqual([null, null]);
});

test('rows of a list that grew stay until the new ones are there', async () => {
  const { asked, pages } = server();
  const grown = new SnapshotPages(
    { snapshots: () => new Promise(() => undefined), snapshotPlace: async () => null },
    'r',
    {},
    TOTAL,
    [{ step: -1 } as Snapshot],
    pages,
  );
  expect([grown.row(0)?.step, grown.row(7)?.step, grown.row(5000)]).toEqual([-1, 7, null]);
  const again = new SnapshotPages(
    { snapshots: () => new Promise(() => undefined), snapshotPlace: async () => null },
    'r',
    {},
    TOTAL,
    [],
    grown,
  );
  expect([again.row(0)?.step, again.row(7), asked]).toEqual([-1, null, []]);
});

test('a failure stops the asking until it is tried again', async () => {
  const { asked, pages } = server(true);
  pages.load(300, 301);
  await vi.waitFor(() => expect(pages.error.value?.message).toBe('gone'));
  pages.load(300, 301);
  expect(asked).toHaveLength(1);
  pages.retry();
  pages.load(300, 301);
  expect(asked).toHaveLength(2);
});

test('a file takes them all, up to a limit', async () => {
  const { pages } = server();
  const done: number[] = [];
  const rows = await pages.all(2500, (count) => done.push(count));
  expect([rows.length, rows[2499]?.step, done]).toEqual([2500, 2499, [1000, 2000, 3000]]);
});
