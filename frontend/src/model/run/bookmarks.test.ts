import { expect, test } from 'vitest';
import { type Bookmark, bookmarksText, type CurrentPlace, defaultName, isSamePlace, placeText, readBookmarks } from './bookmarks';

const RELU: Bookmark = { link: '#run=r&tensor=net/Relu:0', graph: 'g', place: 'net/Relu', step: 4, name: 'Relu', note: '' };

test('a bookmark is called as its place, as its layer, or as the view', () => {
  expect(defaultName('net/block_1/Relu', 'graph')).toBe('Relu');
  expect(defaultName('net/block_1/', 'graph')).toBe('block_1');
  expect(defaultName('', 'table')).toBe('Tensors');
  expect(defaultName('', 'layers', 'conv_1')).toBe('conv_1');
});

test.each([
  ['net/block_1/Relu', 'Relu', 'net/block_1'],
  ['net/block_1/', 'block_1', 'net'],
  ['Relu', 'Relu', ''],
  ['net/block_1/Relu', 'half dead', 'net/block_1/Relu'],
  ['net/block_1/Relu', 'lu', 'net/block_1/Relu'],
  ['', 'Timeline', ''],
])('%s, called %s, is in %s', (place, name, scope) => {
  expect(placeText({ ...RELU, place, name })).toBe(scope);
});

const HERE: CurrentPlace = { graph: 'g', place: 'net/Relu', step: 4, view: 'graph', layer: null };

test('one place at another step is another bookmark', () => {
  expect(isSamePlace({ ...RELU, name: 'x' }, HERE)).toBe(true);
  expect(isSamePlace(RELU, { ...HERE, step: 5 })).toBe(false);
  expect(isSamePlace(RELU, { ...HERE, graph: 'h' })).toBe(false);
});

test('a node has one bookmark in all views; without a place each view has its own', () => {
  expect(isSamePlace(RELU, { ...HERE, view: 'table' })).toBe(true);
  const timeline = { ...RELU, link: '#run=r&view=timeline', place: '' };
  expect(isSamePlace(timeline, { ...HERE, place: '', view: 'timeline' })).toBe(true);
  expect(isSamePlace(timeline, { ...HERE, place: '', view: 'table' })).toBe(false);
});

test('each layer has its own bookmark', () => {
  const first = { ...RELU, link: '#run=r&view=layers&layer=a', place: '' };
  const here: CurrentPlace = { ...HERE, place: '', view: 'layers', layer: 'a' };
  expect([here, { ...here, layer: 'b' }, { ...here, layer: null }].map((each) => isSamePlace(first, each))).toEqual([true, false, false]);
});

test('all of them as text', () => {
  const text = bookmarksText([RELU, { ...RELU, name: 'dead', note: 'since the\nwarmup' }], (link) => `http://here/${link}`);
  expect(text).toBe(`Relu\nhttp://here/${RELU.link}\n\ndead: since the\nwarmup\nhttp://here/${RELU.link}\n`);
});

test('what was stored is taken as far as it is bookmarks', () => {
  const stored = { r: [RELU, { ...RELU, step: 'x' }, { ...RELU, link: 'javascript:alert(1)' }, null], s: 7 };
  expect(readBookmarks(stored)).toEqual({ r: [RELU], s: [] });
  expect([readBookmarks(null), readBookmarks([])]).toEqual([null, null]);
});
