import { expect, test } from 'vitest';
import { LayoutEngine } from '../layout/engine';
import { PlacedGraph } from '../layout/placed';
import { makeGraph, treeAndMeta } from '../model/graph_fixture';
import { smallNodes } from '../model/small_nodes';
import { type Camera, toScreenX, toScreenY } from './camera';
import { TitlePlacer } from './draw_titles';
import type { Frame } from './frame';
import { Motion } from './motion';
import { Scene } from './scene';
import { TextFitter } from './text';
import { themeOf } from './theme';

const VIEW = { width: 800, height: 600 };
const COVERED = 48;
const LETTER = 0.5;

/** Scopes in scopes: `outer/middle/inner`, each with a chain of nodes of its own. */
function nested(): Frame['drawing'] {
  const scopes = ['outer', 'outer/middle', 'outer/middle/inner'];
  const names = scopes.flatMap((scope) => [0, 1, 2, 3].map((i) => `${scope}/node_${i}`));
  const graph = makeGraph(
    names,
    names.slice(1).map((name, i) => `${names[i]} -> ${name}`),
  );
  const { tree, meta } = treeAndMeta(graph);
  const engine = new LayoutEngine({ tree, meta, columns: graph });
  engine.setOpen([1, 2, 3], true);
  const placed = new PlacedGraph(tree);
  placed.apply(engine.relayoutNow());
  return { graph, tree, meta, placed, small: smallNodes(graph.opTypes) };
}

const drawing = nested();

interface Drawn {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** The texts of all titles as this camera sees them, and the grounds that were filled for them. */
function titles(camera: Camera): { texts: Drawn[]; grounds: number[][] } {
  const [texts, grounds, boxes]: [Drawn[], number[][], number[][]] = [[], [], []];
  const context = {
    measureText: (text: string) => ({ width: text.length * 20 * LETTER }),
    fillText: (text: string, x: number, y: number) => texts.push({ text, x, y }),
    roundRect: (...box: number[]) => boxes.push(box),
    fill: () => grounds.push(...boxes.splice(0)),
    ...{ beginPath() {}, strokeText() {}, stroke() {}, moveTo() {}, lineTo() {} },
  } as unknown as CanvasRenderingContext2D;
  const scene = new Scene();
  scene.collect(drawing.placed, new Motion(), camera, VIEW);
  const placer = new TitlePlacer({
    ...{ context, drawing, scene, covered: COVERED, theme: themeOf('light') },
    fitter: new TextFitter(context),
  } as unknown as Frame);
  for (let depth = 0; depth < scene.depth; depth++) placer.draw(scene.level(depth).scopes, depth);
  return { texts, grounds };
}

const origin = (scope: number) => drawing.placed.origin(drawing.tree.nodeCount + scope);
const sorted = (texts: readonly Drawn[]) => texts.toSorted((a, b) => a.y - b.y).map(({ text }) => text);

test('both texts of a title bar stand on a ground, which covers the edges that run through it', () => {
  const { x, y } = origin(1);
  const { texts, grounds } = titles({ x: x + 100, y: y + 100, zoom: 1 });
  const subtitles = texts.filter(({ text }) => text.endsWith('nodes'));
  expect(texts.map(({ text }) => text)).toContain('outer');
  expect(subtitles.length).toBeGreaterThan(0);
  for (const drawn of texts) {
    const under = grounds.some(([left, top, width, height]) => {
      const inside = left! <= drawn.x && drawn.x < left! + width!;
      return inside && top! < drawn.y && drawn.y < top! + height!;
    });
    expect(under, drawn.text).toBe(true);
  }
});

test('titles that follow the view line up below what covers its upper edge, outer ones first', () => {
  const { x, y } = origin(3);
  const camera = { x: x + 160, y: y + 80, zoom: 5 };
  expect(toScreenY(camera, VIEW, origin(3).y)).toBeLessThan(COVERED);
  const { texts } = titles(camera);
  const names = texts.filter(({ text }) => !text.endsWith('nodes'));
  expect(sorted(names)).toEqual(['outer', 'middle', 'inner']);
  expect(Math.min(...names.map((name) => name.y))).toBeGreaterThan(COVERED);
  expect(new Set(texts.map((name) => name.y)).size).toBe(3);
});

test('a title stays beside the sign that closes its scope, also at the left edge of the view', () => {
  const { x, y } = origin(1);
  const camera = { x: x + VIEW.width / 2 + 1, y: y + 100, zoom: 1 };
  expect(toScreenX(camera, VIEW, x)).toBe(-1);
  const outer = titles(camera).texts.find(({ text }) => text === 'outer');
  expect(outer!.x).toBeGreaterThan(-1 + 16 + 8);
});
