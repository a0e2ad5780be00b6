import { beforeEach, expect, test, vi } from 'vitest';
import { makeGraph } from '../model/graph/graph_fixture';
import type { LayoutReply, LayoutRequest } from './messages';

class FakeWorker {
  static made: FakeWorker[] = [];
  readonly asked: LayoutRequest[] = [];
  onmessage: ((event: { data: LayoutReply }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  ended = false;

  constructor() {
    FakeWorker.made.push(this);
  }

  postMessage(request: LayoutRequest): void {
    this.asked.push(request);
  }

  say(message: string): void {
    this.onmessage?.({ data: { type: 'failed', message } });
  }

  terminate(): void {
    this.ended = true;
  }
}

const graph = () => makeGraph(['a/x', 'a/y', 'b'], ['a/x -> a/y', 'a/y -> b']);
const heard: LayoutReply[] = [];
const hear = (reply: LayoutReply) => heard.push(reply);

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('Worker', FakeWorker);
  FakeWorker.made = [];
  heard.length = 0;
});

test('a layout that was begun is taken over with all that it said, and only once', async () => {
  const { beginLayout, layoutOf } = await import('./client');
  const wanted = { graph: graph(), open: ['a'], ungrouped: [] };
  beginLayout(wanted);
  const [first] = FakeWorker.made;
  expect(first!.asked).toMatchObject([{ type: 'load', open: ['a'] }]);
  first!.say('early');
  const client = layoutOf({ ...wanted, open: ['a'] }, hear);
  expect(heard).toHaveLength(0);
  await Promise.resolve();
  first!.say('late');
  expect(heard).toMatchObject([{ message: 'early' }, { message: 'late' }]);
  expect(first!.asked).toHaveLength(1);
  client.close();
  layoutOf(wanted, hear);
  expect(FakeWorker.made).toHaveLength(2);
  expect(first!.ended).toBe(true);
});

test('a layout that was begun for something else is ended', async () => {
  const { beginLayout, layoutOf } = await import('./client');
  const wanted = { graph: graph(), open: null, ungrouped: [] };
  const others = [{ graph: graph() }, { open: ['a'] }, { open: [] }, { ungrouped: ['*'] }];
  for (const other of others) {
    beginLayout(wanted);
    const begun = FakeWorker.made.at(-1)!;
    layoutOf({ ...wanted, ...other }, hear);
    begun.say('of the other one');
    expect(begun.ended).toBe(true);
  }
  await Promise.resolve();
  expect(heard).toEqual([]);
  expect(FakeWorker.made).toHaveLength(2 * others.length);
});

test('a worker that could not be loaded before anybody needed it is not taken', async () => {
  const { layoutOf, prepareWorker } = await import('./client');
  prepareWorker();
  FakeWorker.made[0]!.onerror?.({ message: '' });
  layoutOf({ graph: graph(), open: null, ungrouped: [] }, hear);
  expect(FakeWorker.made).toHaveLength(2);
  FakeWorker.made[1]!.onerror?.({ message: '' });
  expect(heard).toMatchObject([{ type: 'failed', message: 'the layout worker could not be started' }]);
});
