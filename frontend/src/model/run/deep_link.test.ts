import { expect, test } from 'vitest';
import { type DeepLink, decodeLink, EMPTY_LINK, encodeLink, isNewPlace, namesView, unreadParts } from './deep_link';

const FULL: DeepLink = {
  run: 'exp1-lr-0.3-1f',
  graph: 'train step #2',
  worker: 'host-1&2',
  step: 120,
  follow: true,
  tensor: 'dense/MatMul:0',
  visit: 3,
  selected: 'model/block_0..block_3',
  part: 'backward',
  layer: 'net/block_1',
  shade: 'gradientNorm',
  enlarged: true,
  view: 'timeline',
  unfolded: ['model/AddN …'],
  folded: ['a,b', 'c'],
  scope: 'model/dense',
  match: 'conv|pool',
  where: 'nan > 0 & x',
  sort: '-nan',
  place: 'src/train.py:12',
  panel: 'histogram',
  value: 'heatmap',
  ...{ chart: 'heatmap', axis: 'linear', band: 'quantiles', log: '1', histories: 'multiples', by: 'absMax' },
  dims: [3, 'y', 'x', 0],
  color: 'statistic:abs_max',
  open: ['model/dense', 'a,b'],
  unstacked: ['model/block_0..block_3'],
  trace: { kind: 'path', from: 'a,b', to: 'model/dense/MatMul' },
  other: 'exp2-lr-0.1-2e',
  otherStep: 7,
  otherWorker: 'host-2&3',
  at: 'step',
  rank: 'cosine',
  range: { first: 10, last: 40 },
  pins: ['dense/Relu:0', 'a,b:1'],
  saw: 'part-3',
  of: 'ids',
  rows: 'all',
  list: 'histograms',
};

test('nothing chosen is an address without a hash', () => {
  expect(encodeLink(EMPTY_LINK)).toBe('');
  expect(decodeLink('')).toEqual(EMPTY_LINK);
});

test('every choice survives the round trip', () => {
  expect(decodeLink(encodeLink(FULL))).toEqual(FULL);
});

test('names stay readable', () => {
  expect(encodeLink({ ...EMPTY_LINK, run: 'r', step: 7, tensor: 'a/b:0' })).toBe('#run=r&step=7&tensor=a/b:0');
});

test.each([
  '#step=-1&visit=1.5',
  '#range=40-10&pins=,,&of=x&rows=some',
  '#range=7',
  '#panel=nothing&view=other',
  '#%E0%A4%A=x&run=',
  '#&&=&step',
  '#trace=path,a',
  '#trace=inputs,',
])('%s holds nothing usable and is no error', (hash) => {
  expect(decodeLink(hash)).toEqual(EMPTY_LINK);
});

test('an address says how charts are drawn, and leaves alone what it does not say', () => {
  const link = { ...EMPTY_LINK, panel: 'histogram' as const, chart: 'overlay' as const, axis: 'linear' as const };
  expect(encodeLink(link)).toBe('#panel=histogram&chart=overlay&axis=linear&view=graph');
  expect(decodeLink('#panel=history&log=0&band=quantiles')).toEqual({ ...EMPTY_LINK, panel: 'history', log: '0', band: 'quantiles' });
  expect(decodeLink('#chart=pie&log=yes&by=toString')).toEqual(EMPTY_LINK);
});

test('tabs also answer to their titles', () => {
  expect(decodeLink('#panel=histograms').panel).toBe('histogram');
});

test('parts that say nothing the page can read are named, and others are not', () => {
  const hash =
    '#run=a&step=abc&view=nope&visit=-1&panel=value&value=zz&dims=0,y,x&range=9-1&trace=zz&foo=1&visit=2147483648&view=graph&follow=0&sort=zz&open=&chart=zz&axis=linear&band=quantiles&log=2&histories=one&by=zz';
  expect(unreadParts(hash)).toEqual([
    'step=abc',
    'view=nope',
    'visit=-1',
    'value=zz',
    'range=9-1',
    'trace=zz',
    'foo=1',
    'visit=2147483648',
    'sort=zz',
    'chart=zz',
    'log=2',
    'by=zz',
  ]);
  expect(unreadParts('')).toEqual([]);
  expect(unreadParts('#tensortap')).toEqual([]);
});

test('an unknown view selects none, an order of a table is read', () => {
  expect(['view=nope', 'run=a&view=', 'place=train.py:3'].map(namesView)).toEqual([false, false, false]);
  expect(['#view=table', 'run=a&view=stepper', '#open='].map(namesView)).toEqual([true, true, true]);
  expect(unreadParts('#sort=-nan&rank=cosine')).toEqual([]);
});

test('a broken escape is taken literally', () => {
  expect(decodeLink('#tensor=100%').tensor).toBe('100%');
});

test('more open scopes than an address can hold are left out', () => {
  const open = Array.from({ length: 200 }, (_, i) => `scope_number_${i}`);
  expect(encodeLink({ ...EMPTY_LINK, open })).toBe('');
});

test('moving along the steps or completing an address is no new place; another run, graph or tensor is', () => {
  const here = { ...EMPTY_LINK, run: 'cnn' };
  expect(isNewPlace(here, { ...here })).toBe(false);
  expect(isNewPlace(here, { ...here, unstacked: [], trace: null })).toBe(false);
  const another = [{ run: 'b' }, { graph: 'g' }, { tensor: 'x:0' }, { selected: 'a' }, { scope: 's' }];
  for (const change of [...another, { view: 'table' as const }, { unstacked: ['*'] }])
    expect(isNewPlace(here, { ...here, ...change })).toBe(true);
});
