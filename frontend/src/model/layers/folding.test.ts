import { expect, test } from 'vitest';
import { foldedLevel, framesAround, type Level, NO_FOLDS, toggleFold } from './folding';
import { captured, written } from './layers_fixture';
import { findRepeats } from './repeats';

const titles = ({ items }: Level): string[] =>
  items.map(({ title, variants }) => (variants.length > 1 ? `${title} × ${variants.length}` : title));

/** A chain of layers in blocks: `net/block_0/one`, … */
function tower(blocks: number, layers = ['one', 'two']): Level {
  const nodes = ['x Placeholder'];
  let before = 'x';
  for (let block = 0; block < blocks; block++) {
    for (const layer of layers) {
      const path = `net/block_${block}/${layer}`;
      nodes.push(
        `${path}/kernel ReadVariableOp ${path} - weight ${path}/kernel`,
        `${path}/MatMul MatMul ${path} ${before},${path}/kernel output`,
      );
      before = `${path}/MatMul`;
    }
  }
  return foldedLevel(written(nodes).layers, NO_FOLDS);
}

test('the frames around an item lead to it, also in collapsed ones', () => {
  const { layers } = captured('nested');
  const encoder = foldedLevel(layers, NO_FOLDS).items[3]!;
  const inner = encoder.inside!.items[1]!.key;
  expect(framesAround(layers, encoder.key)).toEqual([]);
  expect(framesAround(layers, inner)).toEqual([encoder.key]);
  expect(framesAround(layers, 'encoder/nope')).toBeNull();
});

test('nested models are frames, open in a small model', () => {
  const level = foldedLevel(captured('nested').layers, NO_FOLDS);
  expect(titles(level)).toEqual(['Input 0', 'Input 1', 'Labels', 'encoder', 'encoder', 'join', 'mix', 'refine', 'out', 'loss']);
  expect(titles(level.items[3]!.inside!)).toEqual(['one', 'two', 'sum']);
  expect(level.items[4]).toMatchObject({ call: 1, calls: 2 });
  expect(level.items[3]!.inside!.entries).toEqual([0, 2]); // the residual edge enters, too
});

test('a model that is little but one block is opened, down to where it branches or repeats', () => {
  const nodes = ['x Placeholder'];
  let before = 'x';
  for (let block = 0; block < 20; block++)
    for (const layer of ['one', 'two']) {
      const path = `net/encoder/block_${block}/${layer}`;
      nodes.push(
        `${path}/kernel ReadVariableOp ${path} - weight ${path}/kernel`,
        `${path}/MatMul MatMul ${path} ${before},${path}/kernel output`,
      );
      before = `${path}/MatMul`;
    }
  nodes.push(
    'net/head/kernel ReadVariableOp net/head - weight net/head/kernel',
    `net/head/MatMul MatMul net/head ${before},net/head/kernel output`,
  );
  const { layers } = written(nodes);
  const level = foldedLevel(layers, NO_FOLDS);
  expect(titles(level)).toEqual(['x', 'encoder', 'head']);
  expect(titles(level.items[1]!.inside!)).toEqual(['block_0 × 20']);
  expect(foldedLevel(layers, toggleFold(NO_FOLDS, level.items[1]!.toggle, true)).items[1]!.inside).toBeNull();
});

test('a frame is closed and opened again by its key', () => {
  const { layers } = captured('nested');
  const closed = toggleFold(NO_FOLDS, 'siamese_1/refine_1', true);
  expect(foldedLevel(layers, closed).items.find(({ title }) => title === 'refine')).toMatchObject({
    inside: null,
    className: '3 layers',
    parameters: 2112,
  });
  const classes = new Map([['siamese/refine', 'Refine']]);
  const named = foldedLevel({ ...layers, classes }, closed).items.find(({ title }) => title === 'refine');
  expect(named?.className).toBe('Refine · 3 layers');
  const again = toggleFold(closed, 'siamese_1/refine_1', false);
  expect(foldedLevel(layers, again).items.find(({ title }) => title === 'refine')?.inside).not.toBeNull();
});

test('equal blocks are drawn once', () => {
  const level = tower(6);
  expect(titles(level)).toEqual(['x', 'block_0 × 6']);
  expect(level.items[1]!.names).toEqual(['block_0', 'block_1', 'block_2', 'block_3', 'block_4', 'block_5']);
  expect(level.edges).toEqual([[0, 1]]);
});

test('thousands of layers fold, and quickly', () => {
  const level = tower(2500);
  expect(titles(level)).toEqual(['x', 'block_0 × 2500']);
  expect(level.items[1]!.variants).toHaveLength(2500);
});

test('blocks of other shapes are not the same block', () => {
  const { layers } = captured('plain');
  expect(titles(foldedLevel(layers, NO_FOLDS))).toContain('layer0 × 3');
});

test('blocks that names tell hold what lies between their layers, and the first needs no number', () => {
  const nodes = ['x Placeholder'];
  let before = 'x';
  const layer = (name: string, from = before): string => {
    nodes.push(`net/${name}/MatMul MatMul net/${name} ${from} output`);
    before = `net/${name}/MatMul`;
    return before;
  };
  layer('stem');
  for (const block of ['part', 'part_1', 'part_2']) {
    const start = before;
    layer(`${block}_expand`);
    layer(`re_lu${block.slice(4)}`);
    for (const name of ['depthwise', 'squeeze', 'project', ...(block === 'part_1' ? ['extra'] : [])]) layer(`${block}_${name}`);
    expect(before).not.toBe(start);
  }
  layer('re_lu_9');
  layer('head');
  const level = foldedLevel(written([...nodes, ...filler]).layers, NO_FOLDS);
  expect(titles(level).slice(0, 5)).toEqual(['x', 'stem', 'part', 'part_1', 'part_2']);
  expect(level.items.slice(2, 5).map(({ className }) => className)).toEqual(['5 layers', '6 layers', '5 layers']);
});

/** Layers beside: a model with few cards has its blocks open. */
const filler = Array.from(
  { length: 20 },
  (_, i) => `net/z${'abcdefghijklmnopqrst'[i]}/MatMul MatMul net/z${'abcdefghijklmnopqrst'[i]} x output`,
);

const card = (path: string, operations = 'MatMul', inputs: number[] = []) => ({
  kind: 'layer' as const,
  path,
  className: 'Dense',
  operations,
  inputs,
});

test('what repeats has the same number moving in all of its names', () => {
  const chain = ['in', 'b_0/x', 'b_0/y', 'b_1/x', 'b_1/y', 'b_2/x', 'b_2/y', 'out'];
  const cards = chain.map((path, i) => card(path, path.endsWith('y') ? 'Relu' : 'MatMul', i > 0 ? [i - 1] : []));
  expect(findRepeats(cards)).toEqual([{ start: 1, length: 2, count: 3 }]);
});

test('two alone are no repetition', () => {
  expect(findRepeats([card('dense'), card('dense_1', 'MatMul', [0])])).toEqual([]);
});

test('the output of a block is that of its last card, even if a loss only reads an inner one', () => {
  const layer = (path: string, from: string): string[] => [
    `${path}/kernel ReadVariableOp ${path} - weight ${path}/kernel`,
    `${path}/MatMul MatMul ${path} ${from},${path}/kernel output`,
  ];
  const body = [...layer('net/body/one', 'x'), ...layer('net/body/two', 'net/body/one/MatMul')];
  const nodes = ['x Placeholder', ...body, ...layer('net/head', 'x'), 'penalty Mul - net/body/one/MatMul,net/head/MatMul loss'];
  const { graph, layers } = written(nodes);
  const block = foldedLevel(layers, NO_FOLDS).items.find(({ title }) => title === 'body');
  expect(graph.names.at(block!.output.row)).toBe('net/body/two/MatMul');
});
