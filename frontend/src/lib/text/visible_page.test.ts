import { createElement, options, type VNode } from 'preact';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drawVisibly } from './visible_page';

const untouched = options.vnode;
beforeAll(drawVisibly);
afterAll(() => {
  if (untouched) options.vnode = untouched;
  else delete options.vnode;
});

/** What a text node gets, as Preact makes one of a child that is a string or a number. */
function text(child: unknown): unknown {
  const node = { type: null, props: child } as unknown as VNode;
  options.vnode?.(node);
  return node.props;
}

test.each([
  ['a\u001b[31m\u202eb', 'a\\u001b[31m\\u202eb'],
  ['two\n\tlines\u2066', 'two\n\tlines\\u2066'],
  ['old\r', 'old\\u000d'],
  ['Größe 👩‍👩‍👧 نامه‌ای', 'Größe 👩‍👩‍👧 نامه‌ای'],
  ['\\u202e', '\\u202e'],
  [7, 7],
])('a text node for %j shows %j', (child, shown) => {
  expect(text(child)).toBe(shown);
});

test.each(['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt'])('%s of an element is written out, too', (name) => {
  expect(createElement('b', { [name]: 'a\u202eb\nc' }).props).toEqual({ [name]: 'a\\u202eb\nc' });
});

test('what addresses, requests and components get keeps the true name', () => {
  const props = { href: '#run=\u202e', value: '\u202e', 'data-run': '\u202e' };
  expect(createElement('a', props).props).toEqual(props);
  expect(createElement(() => null, { title: '\u202e' }).props).toEqual({ title: '\u202e' });
});
