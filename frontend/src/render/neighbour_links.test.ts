import { expect, test } from 'vitest';
import { LayoutEngine } from '../layout/engine';
import { PlacedGraph } from '../layout/placed';
import { indexOf, makeGraph, treeAndMeta } from '../model/graph/graph_fixture';
import { findScope } from '../model/graph/tree';
import { crossing } from './neighbour_links';

const OPS = ['MatMul', 'Relu', 'Exp', 'Tanh'];
const graph = makeGraph(
  ['a/inner', 'a/other', 'b'].flatMap((scope) => OPS.map((op) => `${scope}/${op}`)),
  [
    ...['a/inner', 'a/other', 'b'].flatMap((scope) => OPS.slice(1).map((op, i) => `${scope}/${OPS[i]} -> ${scope}/${op}`)),
    'a/inner/Tanh -> b/MatMul',
    'a/inner/Tanh -> a/other/MatMul',
  ],
);
const { tree, meta } = treeAndMeta(graph);
const engine = new LayoutEngine({ tree, meta, columns: graph });
engine.setOpen([1, 2, 3, 4], true);
const placed = new PlacedGraph(tree);
placed.apply(engine.relayoutNow());
const middle = (entity: number): number =>
  entity >= tree.nodeCount && placed.open[entity - tree.nodeCount] ? placed.plug[entity - tree.nodeCount]! : placed.width[entity]! / 2;
const way = (from: string, to: string) =>
  crossing(tree, placed, middle, (entity) => placed.origin(entity), indexOf(graph, from), indexOf(graph, to));
const scope = (path: string): number => tree.nodeCount + findScope(tree, graph.paths, path);

test('a link leaves through each scope around its source and enters through each around its target', () => {
  const found = way('a/inner/Tanh', 'b/MatMul')!;
  expect([found.out.length, found.into.length]).toEqual([2, 1]);
  expect([found.from, found.to]).toEqual([scope('a'), scope('b')]);
  const [first, second] = found.out;
  const inner = placed.origin(scope('a/inner'));
  expect(first!.toY).toBeCloseTo(inner.y + placed.height[scope('a/inner')]!, 3);
  expect([second!.fromX, second!.fromY]).toEqual([first!.toX, first!.toY]);
  expect(found.into[0]!.fromY).toBeCloseTo(placed.origin(scope('b')).y, 3);
  expect(found.into[0]!.toY).toBeCloseTo(placed.origin(indexOf(graph, 'b/MatMul')).y, 3);
});

test('with nothing in its way a piece is clear', () => {
  expect(way('a/inner/Tanh', 'b/MatMul')!.into[0]!.clear).toBe(true);
  expect(way('a/inner/MatMul', 'b/MatMul')!.out[0]!.clear).toBe(false);
});

test('siblings are linked directly', () => {
  const found = way('b/MatMul', 'b/Relu')!;
  expect([found.out, found.into]).toEqual([[], []]);
  expect([found.from, found.to]).toEqual([indexOf(graph, 'b/MatMul'), indexOf(graph, 'b/Relu')]);
});

test('between scopes of one scope it stays in there', () => {
  const found = way('a/inner/Tanh', 'a/other/MatMul')!;
  expect([found.from, found.to]).toEqual([scope('a/inner'), scope('a/other')]);
  expect([found.out.length, found.into.length]).toEqual([1, 1]);
});
