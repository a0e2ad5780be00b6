import { expect, test } from 'vitest';
import { scopeList } from './build_tree';
import { makeGraph } from './graph_fixture';

test('scopes are listed as they are drawn: chains as one, what is dissolved not at all', () => {
  const graph = makeGraph(['net/block_0/a/MatMul', 'net/block_0/a/Relu', 'net/block_1/MatMul', 'net/block_1/Relu', 'loss/Sum', 'x']);
  const { paths, nodes } = scopeList(graph);
  expect(nodes.map((_, i) => i)).toHaveLength(paths.length);
  expect(Array.from(nodes, (count, i) => `${paths.at(i)} ${count}`)).toEqual(['net 4', 'net/block_0/a 2', 'net/block_1 2']);
});
