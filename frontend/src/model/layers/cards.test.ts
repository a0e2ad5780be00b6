import { expect, test } from 'vitest';
import { scopeOfCall } from './card_layers';
import { type LayerCard, sizeOf } from './cards';
import { type Analysed, captured, written } from './layers_fixture';

const named = ({ layers }: Analysed, title: string, call = 0): LayerCard => {
  const found = layers.cards.find((card) => card.title === title && card.call === call);
  if (!found) throw new Error(`no card ${title}`);
  return found;
};
const readBy = (analysed: Analysed, title: string, call = 0): string[] =>
  [...named(analysed, title, call).inputs.keys()].map((id) => analysed.layers.cards[id]!.title);

test('a nested Keras model has a card a call of a layer', () => {
  const model = captured('nested');
  const layers = model.layers.cards.filter(({ kind }) => kind === 'layer').map(({ path, call }) => `${path} ${call}`);
  expect(layers).toEqual([
    'siamese/encoder/one 0',
    'siamese/encoder/two 0',
    'siamese/encoder/sum 0',
    'siamese/encoder/one 1',
    'siamese/encoder/two 1',
    'siamese/encoder/sum 1',
    'siamese/join 0',
    'siamese/mix 0',
    'siamese/refine/one 0',
    'siamese/refine/two 0',
    'siamese/refine/sum 0',
    'siamese/out 0',
  ]);
  expect(model.layers.recorded).toBe(true);
});

test('of a loss its terms are known, those named after a loss first', () => {
  const step = [
    'x Placeholder',
    'kernel VarHandleOp',
    'read ReadVariableOp net/dense kernel weight net/dense/kernel',
    'net/dense/product MatMul net/dense x,read output',
    'mean Mean - net/dense/product',
    'loss/term Mean - net/dense/product',
    'total AddV2 - mean,loss/term loss',
    'slope Mul - total,x gradient net/dense/kernel',
  ];
  const scalars = written(step, { mean: 'scalar', 'loss/term': 'scalar', total: 'scalar' });
  const loss = named(scalars, 'loss');
  expect(loss.terms.map(({ row }) => scalars.graph.names.at(row))).toEqual(['loss/term', 'mean']);
  expect(named(scalars, 'dense').terms).toEqual([]);
});

test('edges lead from layer to layer, through what stands between', () => {
  const model = captured('nested');
  expect(readBy(model, 'join')).toEqual(['sum', 'sum']);
  expect(readBy(model, 'sum')).toEqual(expect.arrayContaining(['Input 0', 'two']));
  expect(readBy(model, 'sum', 1)).toEqual(expect.arrayContaining(['Input 1', 'two']));
  expect(readBy(model, 'loss')).toEqual(expect.arrayContaining(['out', 'Labels']));
});

test('a card knows its class, shape, parameters, gradients and updates', () => {
  const card = named(captured('nested'), 'mix');
  expect(card).toMatchObject({ className: 'Dense', shape: '16×32', parameters: 64 * 32 + 32 });
  expect(card.weights.map(({ variable }) => variable)).toEqual(['mix/kernel', 'mix/bias']);
  for (const { gradients, updates } of card.weights) {
    expect(gradients).toHaveLength(1);
    expect(updates).toHaveLength(1);
  }
});

test('dropout has no parameters, its seed is none', () => {
  expect(named(captured('cnn'), 'dropout')).toMatchObject({ parameters: 0, className: 'Dropout' });
});

test('without Keras the name scopes are the layers', () => {
  const model = captured('plain');
  expect(model.layers.recorded).toBe(false);
  expect(model.layers.cards.map(({ title }) => title)).toEqual(
    expect.arrayContaining(['x', 'layer0', 'layer1', 'layer2', 'layer3', 'loss']),
  );
  expect(readBy(model, 'layer2')).toEqual(['layer1']);
});

test('a sum of two layers is an operator between them', () => {
  const model = written([
    'x Placeholder',
    'net/a/kernel ReadVariableOp net/a - weight net/a/kernel',
    'net/a/MatMul MatMul net/a x,net/a/kernel output',
    'net/b/kernel ReadVariableOp net/b - weight net/b/kernel',
    'net/b/MatMul MatMul net/b net/a/MatMul,net/b/kernel output',
    'net/add AddV2 net net/a/MatMul,net/b/MatMul',
    'net/c/kernel ReadVariableOp net/c - weight net/c/kernel',
    'net/c/MatMul MatMul net/c net/add,net/c/kernel output',
  ]);
  expect(readBy(model, '+')).toEqual(['a', 'b']);
  expect(readBy(model, 'c')).toEqual(['+']);
});

test('the class that was recorded says whether inner layers have cards of their own', () => {
  const call = { path: 'siamese/encoder', className: 'Attention', builtin: true, parameters: 7, config: '', source: '' };
  const model = captured('nested', [call]);
  const encoder = model.layers.cards.filter(({ path }) => path === 'siamese/encoder');
  expect(encoder.map(({ className, parameters, calls }) => [className, parameters, calls])).toEqual([
    ['Attention', 7, 2],
    ['Attention', 7, 2],
  ]);
});

test.each([
  ['m_1/enc/conv_2/Conv2D', 'm/enc/conv', 'm_1/enc/conv_2'],
  ['outer/m/enc/conv/Conv2D', 'm/enc/conv', 'm/enc/conv'],
  ['m/other/Conv2D', 'm/enc', null],
  ['m/enc_deep/Conv2D', 'm/enc', null],
])('the call that made %s', (name, path, scope) => {
  expect(scopeOfCall(name, path.split('/'))).toBe(scope);
});

test.each([
  ['scalar', 1],
  ['3×4', 12],
  ['?×4', 0],
  ['', 0],
])('size of %s', (shape, size) => {
  expect(sizeOf(shape)).toBe(size);
});

test('without recorded layers a scope with a capital is a layer unless an op type is called so', () => {
  const model = written([
    'x Placeholder',
    'net/Conv1_1/convolution/ReadVariableOp ReadVariableOp',
    'net/Conv1_1/convolution Conv2D - x,net/Conv1_1/convolution/ReadVariableOp',
    'net/Dense_1/MatMul/ReadVariableOp ReadVariableOp',
    'net/Dense_1/MatMul MatMul - net/Conv1_1/convolution,net/Dense_1/MatMul/ReadVariableOp',
  ]);
  expect(model.layers.recorded).toBe(false);
  expect(model.layers.cards.map(({ path }) => path)).toEqual(['x', 'net/Conv1', 'net/Dense']);
});

test('eager code that calls a layer again and again, and updates its weights, shows the layer once', () => {
  const calls = ['', '_1', '_2'].flatMap((n) => [
    `ExpandDims${n} ExpandDims`,
    `net/dense/read${n} ReadVariableOp net/dense`,
    `net/dense/product${n} MatMul net/dense ExpandDims${n},net/dense/read${n}`,
    `net/out/read${n} ReadVariableOp net/out`,
    `net/out/product${n} MatMul net/out net/dense/product${n},net/out/read${n}`,
  ]);
  const step = [...calls, 'Slope MatMul - net/dense/product,net/out/product', 'Update AssignSubVariableOp - Slope'];
  const eager = written(step, Object.fromEntries(['', '_1', '_2'].map((n) => [`net/dense/read${n}`, '4×6'])));
  expect(eager.layers.cards.map(({ title }) => title)).toEqual(['dense', 'out']);
  expect(readBy(eager, 'out')).toEqual(['dense']);
  expect(named(eager, 'dense').parameters).toBe(24);
});
