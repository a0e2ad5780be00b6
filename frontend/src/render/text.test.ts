import { expect, test } from 'vitest';
import { makeGraph, treeOf } from '../model/graph/graph_fixture';
import { siblingNames, visibleLabel } from './draw/draw_labels';
import { TextFitter } from './text';

const LETTER = 0.5;
const fitter = new TextFitter({
  font: '',
  measureText: (text: string) => ({ width: text.length * 20 * LETTER }),
} as unknown as CanvasRenderingContext2D);

/** Labels of nodes with these names, with room for this number of letters. */
function shown(names: string[], letters: number): string[] {
  const graph = makeGraph(names);
  const drawing = { graph, tree: treeOf(graph) };
  return names.map((_, i) => fitter.fit(visibleLabel(drawing, i), 10, 600, letters * 10 * LETTER, siblingNames(drawing, i)));
}

test('nodes of one scope whose names differ in the middle are told apart in little room', () => {
  const names = [0, 1, 2, 3, 4].map((i) => `net/block_${i}_att_1`);
  expect(shown(names, 9)).toEqual([0, 1, 2, 3, 4].map((i) => `block_${i}_…`));
  expect(shown(names, 7)).toEqual([0, 1, 2, 3, 4].map((i) => `…${i}_att…`));
});

test('nodes of different scopes keep both ends of their names', () => {
  expect(shown(['a/block_0_att_1', 'a/x', 'b/block_1_att_1', 'b/x'], 9)).toEqual(['bloc…tt_1', 'x', 'bloc…tt_1', 'x']);
});
