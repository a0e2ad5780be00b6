import { expect, test } from 'vitest';
import { makeGraph, treeOf } from './graph_fixture';
import { elide, nodeSubtitle, SiblingNames } from './labels';

const shortened = (names: string[], keep: number): string[] => {
  const siblings = new SiblingNames(() => names);
  return names.map((name) => siblings.shorten(name, keep));
};

const BLOCKS = [0, 1, 2, 3, 4].flatMap((i) => [`block_${i}_att_1`, `block_${i}_ff1_1`]);

test('names that both ends tell apart keep them', () => {
  expect(shortened(['convolution_1', 'convolution_2', 'dense'], 5)).toEqual(['con…_1', 'con…_2', elide('dense', 5)]);
});

test.each([9, 8, 7, 6, 5, 4])('blocks that differ in the middle differ in %i letters', (keep) => {
  const short = shortened(BLOCKS, keep);
  expect(new Set(short).size).toBe(BLOCKS.length);
  for (const text of short) expect(text.replaceAll('…', '').length).toBeLessThanOrEqual(keep);
});

test.each([
  [9, 'block_0_a…'],
  [7, '…0_att_1'],
  [4, '…0_a…'],
])('of %i letters those are kept in which a block differs', (keep, first) => {
  expect(shortened(BLOCKS, keep)[0]).toBe(first);
});

test('where few letters are not enough for all, they tell as many apart as they can', () => {
  const names = ['x_abc_some_1_at_end', 'x_abc_some_2_at_end', 'x_def_some_1_at_end'];
  expect(shortened(names, 5)).toEqual(['…1_at…', '…2_at…', 'x_d…nd']);
  expect(shortened(['a_name', 'a_name'], 3)).toEqual(['a_…e', 'a_…e']);
});

test('names that begin differently are never written alike', () => {
  const names = ['encoder', 'decoder'].flatMap((side) => [1, 2].map((i) => `${side}_block_${i}_attention`));
  const [first, second, ...decoder] = shortened(names, 8);
  expect(new Set([first, second, ...decoder]).size).toBe(3);
  expect(decoder).toEqual(['deco…tion', 'deco…tion']);
});

test('names that take ever more rounds to tell apart are given up after a few', () => {
  const hostile = Array.from({ length: 400 }, (_, i) => `${'a'.repeat(i)}b${'a'.repeat(800 - i)}`);
  expect(new Set(shortened(hostile, 8)).size).toBeLessThan(hostile.length / 4);
});

test.each([
  [{ path: 'a', op: 'MatMul', shape: '2×2' }, 'MatMul 2×2'],
  [{ path: 'a', op: '', shape: '2×2' }, '2×2'],
  [{ path: 'MatMul_1', op: 'MatMul', shape: '2×2' }, '2×2'],
  [{ path: 'a', op: 'safe\u202egnp.exe\u001b' }, 'safe\\u202egnp.exe\\u001b'],
])('below the label of %j stands %j', (node, subtitle) => {
  const graph = makeGraph([node]);
  expect(nodeSubtitle(treeOf(graph), graph, 0)).toBe(subtitle);
});
