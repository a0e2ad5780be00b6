import { expect, test } from 'vitest';
import { makeGraph, treeOf } from './graph_fixture';
import { nodeSubtitle } from './labels';

test.each([
  [{ path: 'a', op: 'MatMul', shape: '2×2' }, 'MatMul 2×2'],
  [{ path: 'a', op: '', shape: '2×2' }, '2×2'],
  [{ path: 'MatMul_1', op: 'MatMul', shape: '2×2' }, '2×2'],
  [{ path: 'a', op: 'safe\u202egnp.exe\u001b' }, 'safe\\u202egnp.exe\\u001b'],
])('below the label of %j stands %j', (node, subtitle) => {
  const graph = makeGraph([node]);
  expect(nodeSubtitle(treeOf(graph), graph, 0)).toBe(subtitle);
});
