import { expect, test } from 'vitest';
import type { Frame } from '../frame';
import { themeOf } from '../theme';
import { drawHighlights, type Highlights } from './draw_highlights';

const NOTHING: Highlights = {
  ...{ selected: -1, hovered: -1, hoveredEdge: -1, currentHit: -1 },
  ...{ neighbours: [], chain: [], path: [], ways: [] },
  ...{ hits: null, marks: null, traced: null },
};

test('no line of a highlight runs through a title that follows the view', () => {
  const cleared: number[][] = [];
  const context = { clearRect: (...box: number[]) => cleared.push(box) };
  const scene = { view: { width: 800, height: 600 }, depth: 0 };
  const moved = [{ x: 12, y: 49, right: 92, bottom: 73, entity: 3, signRight: 36 }];
  const frame = { context, scene, moved, theme: themeOf('light'), drawing: { tree: { nodeCount: 3 } } } as unknown as Frame;
  drawHighlights(frame, { x: 0, y: 0, zoom: 1 }, NOTHING);
  expect(cleared.at(-1)).toEqual([12, 49, 80, 24]);
});
