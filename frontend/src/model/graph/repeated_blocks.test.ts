import { expect, test } from 'vitest';
import type { GraphData } from '../wire/graph';
import { makeGraph, type NodeSpec, treeOf } from './graph_fixture';
import { blockGroupPlace, commonLabel, groupRepeatedBlocks, hasBlocks, withToggled } from './repeated_blocks';
import { blockGroupSize, entityLabel, findScope, type ScopeTree, scopePath } from './tree';

const OPS = ['MatMul', 'BiasAdd', 'Relu', 'Mul', 'Sub', 'Exp', 'Sum', 'AddV2'];

/** A chain of blocks, each of eight nodes in a row: `model/block_0/MatMul` … */
function blocks(names: readonly string[], between: (i: number) => string | null = () => null): GraphData {
  const nodes: NodeSpec[] = ['model/in'];
  const edges: string[] = [];
  let before = 'model/in';
  const add = (path: string): void => {
    nodes.push(path);
    edges.push(`${before} -> ${path}`);
    before = path;
  };
  names.forEach((name, i) => {
    for (const op of OPS) add(`model/${name}/${op}`);
    const beside = between(i);
    if (beside) add(`model/${beside}`);
  });
  add('model/out');
  return makeGraph(nodes, edges);
}

function groupedTree(graph: GraphData, ungrouped: readonly string[] = []): ReturnType<typeof groupRepeatedBlocks> {
  return groupRepeatedBlocks(treeOf(graph), { ...graph, ungrouped });
}

function labels(tree: ScopeTree, graph: GraphData, scope: number): string[] {
  return [...tree.children.subarray(tree.childStart[scope], tree.childStart[scope + 1])].map((child) =>
    entityLabel(tree, graph.paths, child),
  );
}

const NAMES = ['block_0', 'block_1', 'block_2', 'block_10'];
const GROUP = 'model/block_0..block_10';

test('blocks that repeat are one scope, in the place of the first, with the edges between them inside', () => {
  const graph = blocks(NAMES);
  const { tree, meta } = groupedTree(graph);
  const model = findScope(tree, graph.paths, 'model');
  expect(labels(tree, graph, model)).toEqual(['in', 'block × 4', 'out']);
  const stack = findScope(tree, graph.paths, GROUP);
  expect([tree.blockGroups.has(stack), blockGroupSize(tree, stack), tree.nodesIn[stack]]).toEqual([true, 4, 32]);
  expect(labels(tree, graph, stack)).toEqual(NAMES);
  expect(scopePath(tree, graph.paths, stack)).toBe(GROUP);
  const edgesIn = (scope: number): number => meta.start[scope + 1]! - meta.start[scope]!;
  expect([edgesIn(model), edgesIn(stack)]).toEqual([2, 3]);
});

test('scopes are numbered depth first, and every path leads to its block', () => {
  const graph = blocks(NAMES);
  const { tree } = groupedTree(graph);
  for (const name of NAMES) {
    const scope = findScope(tree, graph.paths, `model/${name}`);
    expect(scopePath(tree, graph.paths, scope)).toBe(`model/${name}`);
    expect(tree.blockGroups.has(tree.parent[tree.nodeCount + scope]!)).toBe(true);
  }
  for (let scope = 1; scope < tree.scopeCount; scope++) {
    const around = tree.parent[tree.nodeCount + scope]!;
    expect(around).toBeLessThan(scope);
    expect(tree.subtreeEnd[scope]).toBeLessThanOrEqual(tree.subtreeEnd[around]!);
    expect(tree.depth[scope]).toBe(tree.depth[around]! + 1);
  }
});

test.each<[string, GraphData]>([
  ['two are no series', blocks(['block_0', 'block_1'])],
  ['names that differ by more than numbers', blocks(['query', 'key', 'value'])],
  ['another inside', makeGraph(NAMES.flatMap((name, i) => [...OPS, `Extra${'abcd'[i]}`].map((op) => `model/${name}/${op}`)))],
  ['blocks of a few nodes', makeGraph(NAMES.flatMap((name) => OPS.slice(0, 3).map((op) => `model/${name}/${op}`)))],
  ['what stands between them is not hidden', blocks(NAMES, (i) => `Pool_${i}`)],
])('no stack: %s', (_, graph) => {
  const { tree } = groupedTree(graph);
  expect(hasBlocks(tree)).toBe(false);
  expect(tree.scopeCount).toBe(treeOf(graph).scopeCount);
});

test('the order of nodes in the dump makes no other kind of block', () => {
  const paths = NAMES.flatMap((name, i) => (i % 2 ? [...OPS].reverse() : OPS).map((op) => `model/${name}/${op}`));
  expect(groupedTree(makeGraph(paths)).tree.blockGroups.size).toBe(1);
});

test('groups in groups', () => {
  const paths = [0, 1, 2].flatMap((tower) => NAMES.flatMap((name) => OPS.map((op) => `tower_${tower}/${name}/${op}`)));
  const graph = makeGraph(paths);
  const { tree } = groupedTree(graph);
  expect(labels(tree, graph, 0)).toEqual(['tower × 3']);
  expect([...tree.blockGroups.keys()].map((scope) => scopePath(tree, graph.paths, scope))).toEqual([
    'tower_0..tower_2',
    'tower_0/block_0..block_10',
    'tower_1/block_0..block_10',
    'tower_2/block_0..block_10',
  ]);
});

test('a stack that was taken apart knows how to become one again', () => {
  const graph = blocks(NAMES);
  const { tree } = groupedTree(graph);
  const entity = tree.nodeCount + findScope(tree, graph.paths, 'model/block_2');
  const place = blockGroupPlace(tree, graph.paths, entity)!;
  expect(place).toEqual({ path: GROUP, grouped: true });
  const apart = withToggled(tree, [], place);
  expect(apart).toEqual([GROUP]);
  for (const ungrouped of [apart, ['*']]) {
    const loose = groupedTree(graph, ungrouped).tree;
    expect(labels(loose, graph, findScope(loose, graph.paths, 'model'))).toEqual(['in', ...NAMES, 'out']);
    const again = blockGroupPlace(loose, graph.paths, loose.nodeCount + findScope(loose, graph.paths, 'model/block_2'))!;
    expect(again).toEqual({ path: GROUP, grouped: false });
    expect(withToggled(loose, ungrouped, again)).toEqual([]);
  }
  expect(blockGroupPlace(tree, graph.paths, 0)).toBe(null);
});

test.each([
  [['block_0', 'block_1'], 'block'],
  [['dense', 'dense_1', 'dense_2'], 'dense'],
  [['conv1_1', 'conv2_1'], 'conv_1'],
  [['conv2d', 'conv2d_1', 'conv2d_2'], 'conv2d'],
  [['layer_0_attention', 'layer_1_attention'], 'layer_attention'],
  [['0', '1'], '#'],
])('%j have %s in common', (names, label) => {
  expect(commonLabel(names)).toBe(label);
});
