import { expect, test } from 'vitest';
import { LINE, lineTop, numberedLines, PART, partsOf } from './source_parts';

const text = Array.from({ length: 250 }, (_, i) => `x${i + 1}`).join('\n');
const made = new Map([170, 130, 7].map((line) => [line, { line, nodes: line === 7 ? [] : [1], through: 1 }]));
const lines = numberedLines(text, made);

test('a file is drawn part by part, and no line is lost', () => {
  const parts = partsOf(lines);
  expect(parts.map((part) => part.length)).toEqual([PART, PART, 50]);
  expect(parts.flat()).toEqual(lines);
  expect(lines[249]).toEqual({ line: 250, text: 'x250' });
});

test('without a text there are the lines that made nodes, in order', () => {
  expect(numberedLines(null, made).map(({ line }) => line)).toEqual([7, 130, 170]);
});

test('the chosen line comes into view, else the first that made nodes where it is out of view', () => {
  expect(lineTop(lines, 201, made, 600)).toBe(200 * LINE);
  expect(lineTop(lines, null, made, 600)).toBe(129 * LINE);
  expect(lineTop(lines, null, made, 5000)).toBeNull();
  expect(lineTop(lines, null, new Map(), 600)).toBeNull();
});
