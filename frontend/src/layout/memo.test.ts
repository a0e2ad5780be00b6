import { expect, test } from 'vitest';
import { makeGraph, treeAndMeta } from '../model/graph/graph_fixture';
import { LayoutMemo } from './memo';
import { scopeGraph } from './scope/scope_graph';
import { layoutScope, type ScopeContext } from './scope/scope_layout';

const BLOCK = ['MatMul', 'BiasAdd', 'Relu', 'Add', 'Mul', 'Exp'];

function blocks(widthOfLast: number) {
  const nodes = [0, 1, 2].flatMap((b) => BLOCK.map((op) => ({ path: `block_${b}/${op}`, op })));
  const edges = [0, 1, 2].flatMap((b) => BLOCK.slice(1).map((op, i) => `block_${b}/${BLOCK[i]} -> block_${b}/${op}`));
  edges.push('block_0/Exp -> block_1/MatMul', 'block_1/Exp -> block_2/MatMul');
  const { tree, meta } = treeAndMeta(makeGraph(nodes, edges));
  const entities = tree.nodeCount + tree.scopeCount;
  const filled = (value: number) => new Float32Array(entities).fill(value);
  const sizes = { width: filled(90), height: filled(36), restWidth: filled(90), restHeight: filled(36), inX: filled(45), outX: filled(45) };
  sizes.width[tree.nodeCount - 1] = widthOfLast;
  const context: ScopeContext = {
    sizes,
    isAuxiliary: () => false,
    isScope: (entity) => entity >= tree.nodeCount,
    isOpen: () => false,
    bridges: meta,
  };
  const graphOf = (scope: number) => scopeGraph(tree, meta, scope, new Int32Array(entities));
  return { context, graphOf, scopes: [1, 2, 3] };
}

test('a block like another one is not laid out again; the first and the last differ in what crosses their borders', () => {
  const { context, graphOf } = blocks(90);
  const memo = new LayoutMemo();
  let made = 0;
  const get = (scope: number) =>
    memo.get(graphOf(scope), context, () => {
      made++;
      return layoutScope(graphOf(scope), context);
    });
  const layouts = [1, 2, 3, 1, 2, 3].map(get);
  expect(made).toBe(3);
  expect(layouts[3]).toBe(layouts[0]);
  expect(layouts[5]).toBe(layouts[2]);
});

test('what is remembered is what a layout would be', () => {
  const memo = new LayoutMemo();
  for (const width of [90, 120, 90]) {
    const { context, graphOf, scopes } = blocks(width);
    for (const scope of scopes) {
      const made = () => layoutScope(graphOf(scope), context);
      expect(memo.get(graphOf(scope), context, made)).toEqual(made());
    }
  }
});
