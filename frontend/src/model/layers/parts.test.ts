import { expect, test } from 'vitest';
import { rowOf } from '../wire/graph';
import { captured, written } from './layers_fixture';
import { drawnScope, graphOfPart, graphScope, PART_SCOPES, type Part, partsOf } from './parts';

const { graph, roles, layers } = captured('cnn');
const tops = (paths: { at(row: number): string }): Set<string> =>
  new Set(Array.from({ length: graph.nodeCount }, (_, row) => paths.at(row).split('/')[0]!));

test('a train step has all parts', () => {
  expect(partsOf(graph, roles.role)).toEqual(['forward', 'loss', 'backward', 'optimizer', 'metrics', 'all']);
});

test('a graph of one part is shown whole', () => {
  const one = written(['net/a/read ReadVariableOp net/a', 'net/a/Relu Relu net/a net/a/read']);
  expect(partsOf(one.graph, one.roles.role)).toEqual(['all']);
});

test('the forward pass shows the model, every other part is one scope', () => {
  const forward = graphOfPart(graph, layers, roles.role, 'forward');
  const shown = [...tops(forward.paths)].filter((top) => !PART_SCOPES.has(top));
  expect(shown).toContain('cnn');
  expect(shown.some((top) => /gradient|adam|AddN|Assign/i.test(top))).toBe(false);
  expect(tops(forward.paths)).toContain('Backward pass');
});

test('rows and names stay, so that selection, colours and statistics fit', () => {
  const backward = graphOfPart(graph, layers, roles.role, 'backward');
  expect(backward.names).toBe(graph.names);
  expect(backward.nodeCount).toBe(graph.nodeCount);
  expect(tops(backward.paths)).toContain('Forward pass');
});

const pathsOf = (part: Part): Map<string, string> => {
  const { names, paths } = graphOfPart(graph, layers, roles.role, part);
  return new Map(Array.from({ length: graph.nodeCount }, (_, row) => [names.at(row), paths.at(row)]));
};

test('a gradient is drawn in its layer, and with it what only reads it', () => {
  const paths = pathsOf('backward');
  expect(paths.get('gradient_tape/cnn_1/dense_1_2/MatMul/MatMul_1')).toBe('cnn/dense_1/MatMul/MatMul_1');
  expect(paths.get('adam/Identity_6')).toBe('cnn/dense_1/adam/Identity_6');
  expect(paths.get('ones')).toBe('compile_loss/sparse_categorical_crossentropy/div_no_nan/ones');
  expect([...paths.values()].filter((path) => path.startsWith('gradient_tape'))).toEqual([]);
});

test('scopes have the names of layers, and the number of their call', () => {
  const twice = captured('nested');
  const { paths } = graphOfPart(twice.graph, twice.layers, twice.roles.role, 'forward');
  expect(paths.at(rowOf(twice.graph, 'siamese_1/encoder_1/one_1/MatMul'))).toBe('siamese/encoder/one/MatMul');
  expect(paths.at(rowOf(twice.graph, 'siamese_1/encoder_3/one_1/MatMul'))).toBe('siamese/encoder (call 2)/one/MatMul');
});

test('handles of variables count as no call', () => {
  const step = written([
    'x Placeholder',
    'variables/net/a/w VarHandleOp net/a',
    'net_1/a_1/read ReadVariableOp net/a variables/net/a/w weight a/w',
    'net_1/a_1/product MatMul net/a x,net_1/a_1/read output',
    'loss Mean - net_1/a_1/product loss',
  ]);
  const { paths } = graphOfPart(step.graph, step.layers, step.roles.role, 'forward');
  expect(paths.at(rowOf(step.graph, 'net_1/a_1/product'))).toBe('net/a/product');
});

test('a scope of the graph is found in the part that draws its nodes', () => {
  const forward = graphOfPart(graph, layers, roles.role, 'forward');
  expect(drawnScope(graph, forward, 'cnn_1/dense_1_2')).toBe('cnn/dense_1');
  expect(drawnScope(graph, forward, 'cnn/dense_1')).toBe('cnn/dense_1');
  expect(drawnScope(graph, forward, 'Backward pass')).toBe('Backward pass');
  expect(drawnScope(graph, forward, 'gradient_tape/cnn_1/dense_1_2')).toBe('gradient_tape/cnn_1/dense_1_2');
  expect(drawnScope(graph, graph, 'cnn_1/dense_1_2')).toBe('cnn_1/dense_1_2');
});

test('a scope of a part has the path of the graph, if all its nodes are in one scope there', () => {
  const [forward, backward, optimizer] = (['forward', 'backward', 'optimizer'] as const).map((part) =>
    graphOfPart(graph, layers, roles.role, part),
  );
  expect(graphScope(graph, forward!, 'cnn/dense_1')).toBe('cnn_1/dense_1_2');
  expect(graphScope(graph, backward!, 'cnn/dense_1')).toBe('gradient_tape/cnn_1/dense_1_2');
  expect(graphScope(graph, forward!, 'cnn')).toBe('cnn_1');
  expect(graphScope(graph, forward!, 'Backward pass')).toBe(null);
  for (const update of ['cnn/conv2d/kernel update', 'cnn/dense_1/kernel update', 'cnn'])
    expect(graphScope(graph, optimizer!, update)).toBe(null);
  expect(graphScope(graph, graph, 'cnn_1/dense_1_2')).toBe('cnn_1/dense_1_2');
});

test('an update is drawn at its weight with its momentum, and counters are bookkeeping', () => {
  const paths = pathsOf('optimizer');
  expect(paths.get('adam/truediv_1')).toBe('cnn/conv2d/kernel update/truediv_1');
  expect(paths.get('adam/AssignAddVariableOp')).toBe('cnn/conv2d/kernel update/AssignAddVariableOp');
  expect(paths.get('AssignVariableOp_2')).toBe('Bookkeeping/AssignVariableOp_2');
  expect([...paths.values()].filter((path) => path.startsWith('adam/'))).toEqual([]);
});

test('gradients of single ops between layers are one scope', () => {
  const step = written([
    'x Placeholder',
    'w VarHandleOp',
    'read ReadVariableOp net/a w weight a/w',
    'net/a/product MatMul net/a x,read output',
    'loss Mean - net/a/product loss',
    'gradient_tape/Sum/Tile Tile - loss',
    'gradient_tape/Neg Neg - gradient_tape/Sum/Tile',
    'gradient_tape/net/a/slope Mul net/a gradient_tape/Neg,x gradient a/w',
  ]);
  const drawn = graphOfPart(step.graph, step.layers, step.roles.role, 'backward');
  const path = (name: string): string => drawn.paths.at(rowOf(step.graph, name));
  expect(path('gradient_tape/Sum/Tile')).toBe('Outside layers/Sum/Tile');
  expect(path('gradient_tape/Neg')).toBe('Outside layers/Neg');
  expect(path('gradient_tape/net/a/slope')).toBe('net/a/slope');
});

test('a node that serves several weights stays outside of them', () => {
  const step = written([
    'x Placeholder',
    'w VarHandleOp',
    'v VarHandleOp',
    'read_w ReadVariableOp net/a w weight a/w',
    'read_v ReadVariableOp net/b v weight b/v',
    'product MatMul net/a x,read_w output',
    'error MatMul net/b product,read_v output',
    'loss Mean - error loss',
    'slope_w Mul net/a loss,x gradient a/w',
    'slope_v Mul net/b loss,x gradient b/v',
    'norm/total Sqrt - slope_w,slope_v',
    'clip/w Mul - slope_w,norm/total update a/w',
    'clip/v Mul - slope_v,norm/total update b/v',
    'store_w AssignSubVariableOp - w,clip/w',
    'store_v AssignSubVariableOp - v,clip/v',
  ]);
  const drawn = graphOfPart(step.graph, step.layers, step.roles.role, 'optimizer');
  const path = (name: string): string => drawn.paths.at(rowOf(step.graph, name));
  expect(path('norm/total')).toBe('norm/total');
  expect(path('clip/w')).not.toBe(path('clip/v'));
});

test('edges join nodes of one part, and lead to the part that is shown', () => {
  const forward = graphOfPart(graph, layers, roles.role, 'forward');
  expect(forward.edges.source.length).toBeLessThan(graph.edges.source.length);
  const crossing = [...forward.edges.source].map((from, edge) => [
    forward.paths.at(from).split('/')[0]!,
    forward.paths.at(forward.edges.target[edge]!).split('/')[0]!,
  ]);
  for (const [from, to] of crossing) if (PART_SCOPES.has(to!) && from !== to) throw new Error(`${from} leads to ${to}`);
  expect(crossing.some(([from, to]) => from === 'Input' && !PART_SCOPES.has(to!))).toBe(true);
});

test('all is the graph itself', () => {
  expect(graphOfPart(graph, layers, roles.role, 'all')).toBe(graph);
});
