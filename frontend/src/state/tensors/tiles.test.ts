import { beforeEach, expect, test, vi } from 'vitest';
import { encodeNpy } from '../../api/encode';
import type { Provider } from '../../api/provider';
import { useProvider } from '../provider';
import { TiledPlane } from './tiles';

const KEY = { run: 'r', graph: null, worker: null, tensor: 'net/W:0', step: 1, visit: 0 };
const part = (first: number) => ({ first, last: first + 20 });

let asked: string[] = [];
let aborted: string[] = [];

/** Answers with ones, when the test triggers it. */
let answer = (): void => undefined;

const server: Provider = {
  json: async () => null,
  bytes: (_path, query, signal) => {
    const selection = String(query?.selection);
    asked.push(selection);
    signal?.addEventListener('abort', () => aborted.push(selection));
    const shape = selection.split(',').map((span) => span.split(':').reduce((from, to) => Number(to) - Number(from), 0));
    const ones = new Float32Array(Math.abs(shape[0]! * shape[1]!)).fill(1);
    return new Promise((resolve) => {
      answer = () => resolve(encodeNpy('<f4', shape.map(Math.abs), new Uint8Array(ones.buffer)));
    });
  },
  post: async () => null,
  href: (path) => path,
};

beforeEach(() => {
  [asked, aborted] = [[], []];
  useProvider(server);
});

test('only the tiles in view are fetched, and once', async () => {
  const plane = new TiledPlane(KEY, [20_000, 5_000], ['y', 'x']);
  expect(plane.at(600, 3)).toBeNull();
  expect(asked).toEqual([]);
  plane.load(part(600), part(0));
  plane.load(part(610), part(0));
  expect(asked).toEqual(['512:1024,0:512']);
  answer();
  await vi.waitFor(() => expect(plane.arrived.value).toBe(1));
  plane.load(part(600), part(0));
  const found = plane.at(600, 3);
  expect([found?.slice.array.values[found.offset], asked.length]).toEqual([1, 1]);
});

test('what is no longer in view is given up, and fetched where it comes back', () => {
  const plane = new TiledPlane(KEY, [20_000, 5_000], ['y', 'x']);
  for (const row of [0, 5_000, 10_000, 0]) plane.load(part(row), part(0));
  expect(aborted).toEqual(['0:512,0:512', '4608:5120,0:512', '9728:10240,0:512']);
  expect(asked).toEqual([...aborted, '0:512,0:512']);
  plane.dispose();
  expect(aborted.length).toBe(4);
});
