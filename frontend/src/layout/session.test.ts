import { describe, expect, test } from 'vitest';
import { makeGraph, makeLargeGraph } from '../model/graph/graph_fixture';
import { findScope } from '../model/graph/tree';
import { type LayoutReply, type LoadedReply, loadRequest } from './messages';
import { LayoutSession } from './session';

async function load(graph = makeLargeGraph(900), open: string[] | null = []) {
  const replies: LayoutReply[] = [];
  const session = new LayoutSession((reply) => replies.push(reply));
  await session.receive(loadRequest(graph, [], open));
  return { session, replies, loaded: replies[0] as LoadedReply, graph };
}

describe('LayoutSession', () => {
  test('a load is answered by the tree and the first layout', async () => {
    const { loaded, replies } = await load();
    expect(replies.map((reply) => reply.type)).toEqual(['loaded']);
    expect([...loaded.update.scopes]).toEqual([0]);
  });

  test('opens the scopes asked for, and what is around them', async () => {
    const { loaded, graph } = await load(makeLargeGraph(900), ['tower_0/block_3']);
    const scope = findScope(loaded.tree, graph.paths, 'tower_0/block_3');
    expect(loaded.update.open[scope]).toBe(1);
    expect(loaded.update.open[loaded.tree.parent[loaded.tree.nodeCount + scope]!]).toBe(1);
    expect(loaded.update.open.reduce((sum, open) => sum + open, 0)).toBe(3);
  });

  test('chooses scopes that tell something: the model, not its gradients', async () => {
    const inside = ['dense', ...'abcdefghi'].flatMap((layer) => ['MatMul', 'Add', 'Relu'].map((op) => `${layer}/${op}`));
    const nodes = ['model', 'gradients', 'adam', 'rm_sprop', 'lion'].flatMap((scope) => inside.map((path) => `${scope}/${path}`));
    const { loaded, graph } = await load(makeGraph(nodes), null);
    const open = (path: string): number => loaded.update.open[findScope(loaded.tree, graph.paths, path)]!;
    expect([open('model'), open('model/dense')]).toEqual([1, 1]);
    for (const aside of ['adam', 'rm_sprop', 'lion']) expect(open(`${aside}/dense`)).toBe(0);
  });

  test('is looked at where it was opened, as a whole if it has no edges', async () => {
    const inside = [...'abcdefghijkl'].flatMap((layer) => ['MatMul', 'Add'].map((op) => `model/${layer}/${op}`));
    expect((await load(makeGraph(inside, ['model/a/MatMul -> model/a/Add']), null)).loaded.focus).toBeGreaterThan(0);
    expect((await load(makeGraph(inside), null)).loaded.focus).toBe(0);
  });

  test('leaves the variables closed, however many there are', async () => {
    const handles = Array.from({ length: 40 }, (_, i) => ({ path: `variables/net/w_${i}`, op: 'Placeholder' }));
    const layers = [...'abcdef'].flatMap((layer) => ['MatMul', 'Add', 'Relu'].map((op) => `model/${layer}/${op}`));
    const { loaded, graph } = await load(makeGraph([...handles, ...layers]), null);
    const open = (path: string): number => loaded.update.open[findScope(loaded.tree, graph.paths, path)]!;
    expect([open('model'), open('variables')]).toEqual([1, 0]);
  });

  test('leaves repeated blocks on their stack, and opens one of a few that stand alone', async () => {
    const ops = ['MatMul', 'Add', 'Relu', 'Mul', 'Sub', 'Exp', 'Sum', 'Neg'];
    const blocks = (scope: string): string[] => [0, 1, 2].flatMap((i) => ops.map((op) => `${scope}block_${i}/${op}`));
    const inside = await load(makeGraph(['model/embed', ...blocks('model/'), 'model/head']), null);
    const open = ({ loaded, graph }: typeof inside, path: string): number => loaded.update.open[findScope(loaded.tree, graph.paths, path)]!;
    expect([open(inside, 'model'), open(inside, 'model/block_0..block_2')]).toEqual([1, 0]);
    const alone = await load(makeGraph(blocks('')), null);
    expect(['block_0..block_2', 'block_0', 'block_1'].map((path) => open(alone, path))).toEqual([1, 1, 0]);
  });

  test('opens and closes', async () => {
    const { session, replies } = await load();
    await session.receive({ type: 'open', scopes: [1], open: true });
    await session.receive({ type: 'open', scopes: [1], open: false });
    expect(replies.slice(1).map((reply) => reply.type === 'update' && reply.update.open[1])).toEqual([1, 0]);
  });

  test('a cancel undoes what was begun', async () => {
    const replies: LayoutReply[] = [];
    // The clock advances only with work, so a cancel is handled in the first pause.
    const session = new LayoutSession(
      (reply) => replies.push(reply),
      () => Promise.resolve(),
      0,
    );
    await session.receive(loadRequest(makeLargeGraph(9000), [], []));
    const opening = session.receive({ type: 'open', scopes: 'all', open: true });
    await Promise.resolve();
    await session.receive({ type: 'cancel' });
    await opening;
    const last = replies[replies.length - 1]!;
    expect(replies.some((reply) => reply.type === 'progress')).toBe(true);
    expect(last.type === 'update' && last.update.open.reduce((sum, open) => sum + open, 0)).toBe(1);
  });

  test('a failure is told', async () => {
    const { session, replies, graph } = await load();
    const request = loadRequest(graph, [], []);
    await session.receive({ ...request, paths: { ...request.paths, offsets: new Uint32Array(0) } });
    expect(replies[1]?.type).toBe('failed');
    await session.receive({ type: 'open', scopes: [1], open: true });
    expect(replies[2]?.type).toBe('update');
  });
});
