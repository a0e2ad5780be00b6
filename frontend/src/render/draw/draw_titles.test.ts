import { expect, test } from 'vitest';
import { LayoutEngine } from '../../layout/engine';
import { PlacedGraph } from '../../layout/placed';
import { HEADER, NODE_HEIGHT } from '../../layout/scope/sizes';
import { makeGraph, treeAndMeta } from '../../model/graph/graph_fixture';
import { smallNodes } from '../../model/graph/op_kinds';
import { type Camera, toScreenX, toScreenY } from '../camera';
import type { Frame, MovedTitle } from '../frame';
import { Motion } from '../motion';
import { Scene } from '../scene';
import { TextFitter } from '../text';
import { themeOf } from '../theme';
import { TitlePlacer } from './draw_titles';

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

/** The texts of all titles for a camera, and their filled backgrounds. */
function titles(camera: Camera, view = VIEW): { texts: Drawn[]; grounds: number[][]; moved: MovedTitle[] } {
  const [texts, grounds, boxes]: [Drawn[], number[][], number[][]] = [[], [], []];
  const context = {
    measureText: (text: string) => ({ width: text.length * 20 * LETTER }),
    fillText: (text: string, x: number, y: number) => texts.push({ text, x, y }),
    roundRect: (...box: number[]) => boxes.push(box),
    fill: () => grounds.push(...boxes.splice(0)),
    ...{ beginPath() {}, strokeText() {}, stroke() {}, moveTo() {}, lineTo() {} },
  } as unknown as CanvasRenderingContext2D;
  const scene = new Scene();
  scene.collect(drawing.placed, new Motion(), camera, view);
  const moved: MovedTitle[] = [];
  const placer = new TitlePlacer({
    ...{ context, drawing, scene, covered: COVERED, moved, theme: themeOf('light') },
    fitter: new TextFitter(context),
  } as unknown as Frame);
  for (let depth = 0; depth < scene.depth; depth++) placer.draw(scene.level(depth).scopes, depth);
  placer.drawFollowing();
  return { texts, grounds, moved };
}

const origin = (scope: number) => drawing.placed.origin(drawing.tree.nodeCount + scope);
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

/** Inside all three scopes, with their title bars above the view. */
function inside(view: typeof VIEW): Camera {
  const { x, y } = origin(3);
  const camera = { x: x + 60, y: y + 80, zoom: 5 };
  expect(toScreenY(camera, view, y)).toBeLessThan(COVERED);
  return camera;
}

test('titles that follow the view stand in a row below what covers its upper edge, outer ones first', () => {
  const { texts, moved } = titles(inside(VIEW));
  expect(texts.map(({ text }) => text)).toEqual(['outer', 'middle', 'inner']);
  expect(new Set(texts.map(({ y }) => y)).size).toBe(1);
  expect(texts[0]!.y).toBeGreaterThan(COVERED);
  for (const [i, { x }] of moved.slice(1).entries()) expect(x).toBeGreaterThan(moved[i]!.right);
});

test('where there is no room beside an outer title, an inner one stands below it', () => {
  const narrow = { width: 200, height: 600 };
  const { texts, moved } = titles(inside(narrow), narrow);
  expect(texts.map(({ text }) => text)).toEqual(['outer', 'middle', 'inner']);
  for (const [i, a] of moved.entries())
    for (const b of moved.slice(i + 1)) expect(a.right <= b.x || b.right <= a.x || a.bottom <= b.y || b.bottom <= a.y).toBe(true);
  expect(Math.max(...moved.map(({ right }) => right))).toBeLessThanOrEqual(narrow.width);
});

test('a title that follows has its own sign, left of its name', () => {
  const { texts, moved } = titles(inside(VIEW));
  for (const [i, title] of moved.entries()) {
    expect(title.signRight).toBeGreaterThan(title.x + 12);
    expect(texts[i]!.x).toBeGreaterThan(title.signRight);
  }
});

test('far out a title ends where its title bar does, and hides nothing of what the scope holds', () => {
  const { x, y } = origin(1);
  const camera = { x, y, zoom: 0.35 };
  const [ground] = titles(camera).grounds;
  const bar = toScreenY(camera, VIEW, y + HEADER);
  expect(ground![1]! + ground![3]!).toBeLessThanOrEqual(bar);
});

test('a title stays beside the sign that closes its scope, also at the left edge of the view', () => {
  const { x, y } = origin(1);
  const camera = { x: x + VIEW.width / 2 + 1, y: y + 100, zoom: 1 };
  expect(toScreenX(camera, VIEW, x)).toBe(-1);
  const outer = titles(camera).texts.find(({ text }) => text === 'outer');
  expect(outer!.x).toBeGreaterThan(-1 + 16 + 8);
});

test('a title stays in view to the last of its scope that is, also of a narrow one', () => {
  const { x, y } = origin(3);
  const width = drawing.placed.width[drawing.tree.nodeCount + 3]!;
  const camera = { x: x + width - 60 + VIEW.width / 2, y: y + 100, zoom: 1 };
  expect(toScreenX(camera, VIEW, x + width)).toBeCloseTo(60);
  const inner = titles(camera).texts.find(({ text }) => text === 'inner');
  expect(inner!.x).toBeGreaterThan(0);
});

test('a title that follows gives way to the nodes below the tools, unless its scope goes on below the view', () => {
  const entity = drawing.tree.entityOf[9]!;
  const [node, width] = [drawing.placed.origin(entity), drawing.placed.width[entity]!];
  const [left, top] = [10, COVERED + 4];
  for (const height of [600, 100]) {
    const view = { width: VIEW.width, height };
    const camera = { x: node.x + view.width / 2 - left, y: node.y + view.height / 2 - top, zoom: 1 };
    const over = titles(camera, view).moved.filter(
      (title) => title.x < left + width && title.right > left && title.y < top + NODE_HEIGHT && title.bottom > top,
    );
    expect(over.length > 0).toBe(height === 100);
  }
});
