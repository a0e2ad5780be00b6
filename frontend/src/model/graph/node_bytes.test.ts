import { expect, test } from 'vitest';
import { DictColumn } from '../../lib/columns';
import type { GraphData } from '../wire/graph';
import { byteScale } from '../wire/value_scale';
import { makeGraph, makeStep, treeOf } from './graph_fixture';
import { bytesByEntity, bytesOfNode, elementsOf } from './node_bytes';

const NONE = Number.NaN;

/** A graph of nodes in a scope: dtype, shape and number of outputs of each. */
function graphOf(...nodes: readonly (readonly [string, string, number])[]): GraphData {
  return {
    ...makeGraph(nodes.map((_, i) => `a/n${i}`)),
    dtypes: DictColumn.of(nodes.map(([dtype]) => dtype)),
    shapes: DictColumn.of(nodes.map(([, shape]) => shape)),
    slots: Int32Array.from(nodes, ([, , slots]) => slots),
  };
}

const bytes = (graph: GraphData, step: ReturnType<typeof makeStep> | null) => [...bytesByEntity(treeOf(graph), graph, step)];

test('shapes as graphs write them', () => {
  expect(['scalar', '32×10', '7', '32×?', ''].map(elementsOf)).toEqual([1, 320, 7, NONE, NONE]);
});

test('what the graph declares, where all of it is known', () => {
  const graph = graphOf(
    ['float32', '4×8', 1],
    ['bfloat16', 'scalar', 1],
    ['int64', '?×8', 1],
    ['string', '3', 1],
    ['float32', '2', 2],
    ['', '', 0],
  );
  expect(bytes(graph, null).slice(0, 6)).toEqual([128, 2, NONE, NONE, NONE, NONE]);
});

test('what was captured is what it was; of several visits that of one, of several outputs their sum', () => {
  const graph = graphOf(['float32', '?×8', 1], ['float32', '2', 2], ['float32', '5', 2]);
  const step = makeStep([
    { node: 0, size: 60 },
    { node: 1, size: 2 },
    { node: 1, size: 3 },
    { node: 2, size: 5 },
  ]);
  step.visits[0] = 3;
  const found = bytes(graph, step);
  expect(found.slice(0, 3)).toEqual([80, 20, NONE]);
  expect(found.at(-1)).toBe(80); // the scope: its largest node
  const rows = [[0], [1, 2], [3]];
  expect(rows.map((own, node) => bytesOfNode(graph, step, own, node))).toEqual([80, 20, NONE]);
  expect(bytesOfNode(graphOf(['float64', '3', 1]), null, [0], 0)).toBe(24);
});

test('ticks are powers of two, and the ends hold what lies beyond', () => {
  const scale = byteScale(Float64Array.from([40, 1000, 3000, 900_000, NONE]));
  expect(scale.ticks.map(({ label }) => label)).toEqual(['32 B', '512 B', '8 KiB', '64 KiB', '1 MiB']);
  expect([scale.place(32), scale.place(2 ** 20), scale.place(1), scale.place(2 ** 40)]).toEqual([0, 1, 0, 1]);
});

test('ends beyond which there are sizes say so', () => {
  const labels = byteScale(Float64Array.from([1, ...new Array<number>(300).fill(1024), 2 ** 40])).ticks.map(({ label }) => label);
  expect([labels[0], labels.at(-1)]).toEqual(['≤ 1 KiB', '≥ 16 KiB']);
});

test('without any size there is a scale all the same', () => {
  expect(byteScale(Float64Array.from([NONE])).ticks.map(({ label }) => label)).toEqual(['1 B', '2 B', '4 B', '8 B', '16 B']);
});
