import { beforeEach, expect, test, vi } from 'vitest';
import type { LayoutJob } from '../../../layout/client';
import { loadRequest } from '../../../layout/messages';
import { LayoutSession } from '../../../layout/session';

type OnReply = ConstructorParameters<typeof LayoutSession>[0];

// Motion depends on the browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, { window: globalThis, matchMedia: () => matches, addEventListener: () => undefined });
});

/** Delayed replies, and requests to the layout. */
const worker = vi.hoisted(() => ({ held: null as (() => void)[] | null, opened: [] as unknown[] }));

vi.mock('../../../layout/client', () => ({
  layoutOf: ({ graph, open, ungrouped }: LayoutJob, onReply: OnReply) => {
    let closed = false;
    const session = new LayoutSession((reply) => {
      const tell = () => {
        if (!closed) onReply(reply);
      };
      if (worker.held) worker.held.push(tell);
      else tell();
    });
    void session.receive(loadRequest(graph, [], open, ungrouped));
    return {
      setOpen(scopes: number[] | 'all', open: boolean): void {
        worker.opened.push(scopes);
        queueMicrotask(() => void session.receive({ type: 'open', scopes, open } as never));
      },
      cancel(): void {},
      close(): void {
        closed = true;
      },
    };
  },
}));

import { makeGraph, type NodeSpec } from '../../../model/graph/graph_fixture';
import { findScope } from '../../../model/graph/tree';
import type { StepStatistics } from '../../../model/wire/step_statistics';
import { GraphView } from './graph_view';
import { nextHit } from './navigation';
import { showTrace } from './shown_entities';

const OPS = ['MatMul', 'BiasAdd', 'Relu', 'Mul', 'Sub', 'Exp', 'Sum', 'AddV2'];

/** Two parts of equal blocks, and a tail. */
function blocks() {
  const nodes: NodeSpec[] = ['model/in'];
  const edges: string[] = [];
  const add = (path: string) => {
    edges.push(`${nodes.at(-1)} -> ${path}`);
    nodes.push(path);
  };
  for (const block of [0, 1, 2, 3]) for (const op of OPS) add(`model/enc/block_${block}/${op}`);
  for (const op of OPS) add(`model/tail/${op}`);
  return makeGraph(nodes, edges);
}

async function shown(graph: ReturnType<typeof makeGraph>, open: string[]) {
  const selected: (string | null)[] = [];
  const events = { select: (name: string | null) => selected.push(name), hover() {}, expanded() {}, leave() {}, ungroup() {}, trace() {} };
  const view = new GraphView(events as never);
  view.setGraph(graph, open);
  await vi.waitFor(() => expect(view.layouts.value).toBe(1));
  return { view, selected };
}

/** From here on, the layout answers at once. */
async function answer(view: GraphView): Promise<void> {
  const before = view.layouts.value;
  await vi.waitFor(() => expect(worker.held?.length).toBeGreaterThan(0));
  const held = worker.held ?? [];
  worker.held = null;
  for (const tell of held) tell();
  await vi.waitFor(() => expect(view.layouts.value).toBeGreaterThan(before));
}

beforeEach(() => {
  worker.held = null;
  worker.opened = [];
});

test('scopes of a drawing that is about to be replaced are not opened by their numbers in it', async () => {
  const graph = blocks();
  const { view } = await shown(graph, ['model']);
  worker.held = [];
  view.setUngrouped(['*']);
  view.toggle(findScope(view.drawing!.tree, graph.paths, 'model/tail'));
  view.setAllOpen(true);
  await answer(view);
  expect(worker.opened).toEqual([]);
  expect(view.busy).toBe(false);
  const tail = findScope(view.drawing!.tree, graph.paths, 'model/tail');
  view.toggle(tail);
  await vi.waitFor(() => expect(view.drawing!.placed.open[tail]).toBe(1));
});

test('a node chosen between two versions is selected at once, and found again in the next one', async () => {
  const { view, selected } = await shown(makeGraph(['a/x', 'a/y', 'b/x', 'b/y', 'c']), []);
  const next = makeGraph(['new/p', 'new/q', 'a/x', 'a/y', 'b/x', 'b/y', 'c']);
  worker.held = [];
  view.setGraph(next, []);
  view.reveal(view.drawing!.tree.entityOf[2]!, true);
  expect(selected).toEqual(['b/x']);
  await answer(view);
  expect(view.selected).toBe(view.drawing!.tree.entityOf[4]);
  view.setAllOpen(true);
  await vi.waitFor(() => expect(view.anyOpen.value).toBe(true));
  expect(selected).toEqual(['b/x']);
});

/** A step at which some nodes have a NaN. */
function stepWith(step: number, bad: readonly number[]): StepStatistics {
  const rows = (value: number) => Int32Array.from(bad, () => value);
  const column = (name: string) => new Float64Array(bad.length).fill(name === 'nan' ? 1 : 0);
  return { step, count: bad.length, node: Int32Array.from(bad), slot: rows(0), visits: rows(1), column } as never;
}

test('what is bad at the current step is searched for again at another one, and the current hit stays', async () => {
  const { view } = await shown(makeGraph(['a/x', 'a/y', 'b/x', 'b/y', 'c']), ['*']);
  const at = async (step: StepStatistics) => {
    view.setColours(step, { kind: 'health' }, 'light');
    await view.finder.done;
  };
  await at(stepWith(0, []));
  await view.search('is:nan');
  expect(view.finder.message.value).toBe('no node has NaN at this step');
  await at(stepWith(1, [1, 3]));
  expect([...view.finder.hits.value]).toEqual([1, 3]);
  nextHit(view, -1);
  await at(stepWith(2, [0, 1, 3]));
  expect([...view.finder.hits.value]).toEqual([0, 1, 3]);
  expect(view.finder.currentRow).toBe(3);
  await at(stepWith(3, [4]));
  expect([[...view.finder.hits.value], view.finder.current.value]).toEqual([[4], -1]);
});

test.each([
  [1, 300, 2000],
  [12, 300, 2000],
  [40, 1000, 700],
  [40, 620, 560],
])('%i nodes fit between toolbar, legend and minimap in %i x %i', async (count, width, height) => {
  const names = Array.from({ length: count }, (_, i) => `a/node_${i}`);
  const { view } = await shown(makeGraph(names, []), ['a']);
  const { viewport } = view;
  viewport.resize({ width, height });
  view.fit(false);
  const box = view.onScreen(view.drawing!.tree.nodeCount)!;
  const [left, right] = [box.x, box.x + box.width];
  expect(box.y).toBeGreaterThan(50);
  expect(box.y + box.height <= height - 140 || (left >= 200 && right <= width - 200)).toBe(true);
});

test('a trace comes into view as a whole, beside its list, and once', async () => {
  const names = Array.from({ length: 14 }, (_, i) => `node_${i}`);
  const edges = names.slice(1).map((name, i) => `${names[i]} -> ${name}`);
  const { view } = await shown(makeGraph(names, edges), []);
  const { viewport } = view;
  viewport.resize({ width: 900, height: 700 });
  viewport.jump({ x: 5000, y: 5000, zoom: 2 });
  view.setTrace({ kind: 'path', from: 'node_2', to: 'node_9' }, null);
  showTrace(view);
  const inView = [2, 3, 4, 5, 6, 7, 8, 9].map((row) => viewport.shows(view.rect(row)!, 270));
  expect(inView).toEqual(inView.map(() => true));
  viewport.jump({ x: 5000, y: 5000, zoom: 2 });
  showTrace(view);
  expect(viewport.camera.x).toBe(5000);
});

test('zooming out ends where the graph is small, not where nothing is left of it', async () => {
  const { view } = await shown(makeGraph(['a', 'b'], ['a -> b']), []);
  const { viewport } = view;
  viewport.resize({ width: 900, height: 700 });
  for (let i = 0; i < 60; i++) viewport.zoom(0.8);
  const { width, height } = view.rect(2)!;
  expect(Math.max((width * viewport.camera.zoom) / 900, (height * viewport.camera.zoom) / 700)).toBeGreaterThan(1 / 50);
  const { zoom } = viewport.camera;
  viewport.zoomSmoothly(0.5, null);
  expect(viewport.goal.zoom).toBe(zoom);
});
