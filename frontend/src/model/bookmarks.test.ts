import { expect, test } from 'vitest';
import { type Bookmark, bookmarksText, naturalName, readBookmarks, sameBookmark } from './bookmarks';

const RELU: Bookmark = { link: '#run=r&tensor=net/Relu:0', graph: 'g', place: 'net/Relu', step: 4, name: 'Relu', note: '' };

test('a bookmark is called as its place, or as the view', () => {
  expect(naturalName('net/block_1/Relu', 'graph')).toBe('Relu');
  expect(naturalName('net/block_1/', 'graph')).toBe('block_1');
  expect(naturalName('', 'timeline')).toBe('Timeline');
});

test('one place at another step is another bookmark', () => {
  expect(sameBookmark(RELU, { ...RELU, name: 'x' } as Bookmark)).toBe(true);
  expect(sameBookmark(RELU, { ...RELU, step: 5 })).toBe(false);
  expect(sameBookmark(RELU, { ...RELU, graph: 'h' })).toBe(false);
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
