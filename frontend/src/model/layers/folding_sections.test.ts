import { expect, test } from 'vitest';
import { foldedLevel, NO_FOLDS, sections } from './folding';
import { written } from './layers_fixture';

/** Layers one after the other, `name` or `name=inputs`, as a flat model of Keras. */
function flat(...layers: string[]) {
  const nodes = ['x Placeholder'];
  let before = 'x';
  for (const text of layers) {
    const [name, inputs = before] = text.split('=') as [string, string?];
    const read = inputs.split(',').map((one) => (one === 'x' ? one : `net/${one}/op`));
    nodes.push(`net/${name}/op MatMul net/${name} ${read} output`);
    before = name;
  }
  return written(nodes).layers;
}

const residual = (n: number, from: string): string[] => [`a${n}=${from}`, `b${n}`, `c${n}`, `side${n}=${from}`, `sum${n}=c${n},side${n}`];

const titled = (...layers: string[]): string[][] => sections(flat(...layers).cards).map((section) => section.map(({ title }) => title));

test('what branches and meets again is a section, a chain is none', () => {
  const blocks = [...residual(1, 'stem'), ...residual(2, 'sum1'), ...residual(3, 'sum2')];
  expect(titled('stem', ...blocks, 'head', 'out')).toEqual([1, 2, 3].map((n) => [`a${n}`, `b${n}`, `c${n}`, `side${n}`, `sum${n}`]));
  expect(titled('a', 'b', 'c', 'd', 'e')).toEqual([]);
});

test('what spans most of a model is none', () => {
  expect(titled('stem', ...residual(1, 'stem'), 'out')).toEqual([]);
});

test('a large flat model shows its sections as closed blocks, a small one its layers', () => {
  const blocks = Array.from({ length: 6 }, (_, n) => residual(n + 1, n === 0 ? 'stem' : `sum${n}`)).flat();
  const level = foldedLevel(flat('stem', ...blocks, 'out'), NO_FOLDS);
  expect(level.items.map(({ title, variants }) => `${title} ${variants.length}`)).toEqual(['x 1', 'stem 1', 'a1 … sum1 6', 'out 1']);
  expect(level.items[2]).toMatchObject({ kind: 'block', className: '5 layers · Dense', path: '' });
  const small = foldedLevel(flat('stem', ...residual(1, 'stem'), ...residual(2, 'sum1'), 'out'), NO_FOLDS);
  expect(small.items.some(({ kind }) => kind === 'block')).toBe(false);
});
