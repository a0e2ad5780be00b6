import { describe, expect, test } from 'vitest';
import { LayoutEngine } from '../layout/engine';
import { PlacedGraph } from '../layout/placed';
import { makeGraph, makeLargeGraph, treeAndMeta } from '../model/graph/graph_fixture';
import { entityLabel } from '../model/graph/tree';
import { type Camera, centreOn, fitRect, toGraphX, toGraphY, toScreenX, toScreenY, zoomAround, zoomAt } from './camera';
import { edgeAt, hitTest } from './hit_test';
import { Motion } from './motion';
import { Scene } from './scene';

const VIEW = { width: 1000, height: 700 };

function laidOut(graph = makeLargeGraph(3000), open = true) {
  const { tree, meta } = treeAndMeta(graph);
  const engine = new LayoutEngine({ tree, meta, columns: graph });
  if (open)
    engine.setOpen(
      Array.from({ length: tree.scopeCount }, (_, i) => i),
      true,
    );
  const placed = new PlacedGraph(tree);
  placed.apply(engine.relayoutNow());
  return { graph, tree, meta, placed };
}

function collect(placed: PlacedGraph, camera: Camera): Scene {
  const scene = new Scene();
  scene.collect(placed, new Motion(), camera, VIEW);
  return scene;
}

const count = (scene: Scene, list: 'scopes' | 'boxes'): number =>
  scene.levels.slice(0, scene.depth).reduce((sum, level) => sum + level[list].count, 0);

const all = laidOut();
const whole = { x: 0, y: 0, width: all.placed.width[all.tree.nodeCount]!, height: all.placed.height[all.tree.nodeCount]! };

describe('Scene', () => {
  test('far out, scopes of a few pixels are single boxes', () => {
    const far = fitRect({ ...whole, width: whole.width * 30, height: whole.height * 30 }, VIEW);
    const near = count(collect(all.placed, fitRect(whole, VIEW)), 'boxes');
    expect(near).toBeGreaterThan(100);
    expect(count(collect(all.placed, far), 'boxes')).toBeLessThan(near / 4);
  });

  test('close up, only what is in view is collected', () => {
    const { x, y } = all.placed.origin(0);
    const scene = collect(all.placed, { x, y, zoom: 1 });
    expect(count(scene, 'boxes')).toBeLessThan(all.tree.nodeCount / 4);
    for (const level of scene.levels.slice(0, scene.depth)) {
      for (let i = 0; i < level.boxes.count; i++) {
        expect(level.boxes.x[i]!).toBeLessThanOrEqual(VIEW.width);
        expect(level.boxes.x[i]! + level.boxes.width[i]!).toBeGreaterThanOrEqual(0);
      }
    }
  });

  test('boxes are where the layout has them', () => {
    const camera = { ...all.placed.origin(5), zoom: 0.7 };
    const scene = collect(all.placed, camera);
    const level = scene.levels.find(({ boxes }) => boxes.entity.subarray(0, boxes.count).includes(5))!;
    const i = level.boxes.entity.indexOf(5);
    expect(level.boxes.x[i]).toBeCloseTo(VIEW.width / 2, 1);
    expect(level.boxes.y[i]).toBeCloseTo(VIEW.height / 2, 1);
  });
});

describe('Motion', () => {
  test('boxes move from the old layout to the new one', () => {
    const { tree, placed } = laidOut(makeGraph(['a', 'b']));
    const motion = new Motion();
    motion.start(placed);
    placed.left[1] = placed.left[1]! + 100;
    const box = new Float64Array(4);
    const at = (t: number): number => {
      motion.t = t;
      motion.read(placed, 1, box);
      return box[0]!;
    };
    const [start, middle, end] = [at(0), at(0.5), at(1)];
    expect([middle - start, end - start]).toEqual([50, 100]);
    motion.finish();
    expect(motion.origin(placed, 1).x).toBe(placed.left[1]);
    expect(tree.scopeCount).toBe(1);
  });
});

describe('hitTest', () => {
  const graph = makeGraph(['a/p', 'a/q', 'b/t', 'b/u'], ['a/p -> a/q', 'a/q -> b/t']);
  const { tree, placed, meta } = laidOut(graph);
  const camera = { x: whole.width / 2, y: 0, zoom: 1 };
  const at = (entity: number, dx: number, dy: number, zoom = 1) => {
    const origin = placed.origin(entity);
    const looking = { ...camera, zoom };
    return hitTest(placed, looking, VIEW, toScreenX(looking, VIEW, origin.x + dx), toScreenY(looking, VIEW, origin.y + dy));
  };

  test('finds the innermost thing', () => {
    expect(at(0, 5, 5)).toEqual({ entity: 0, part: 'node' });
    expect(at(tree.nodeCount + 1, 5, 5)).toEqual({ entity: tree.nodeCount + 1, part: 'title' });
    expect(at(tree.nodeCount + 1, 3, placed.height[tree.nodeCount + 1]! - 3)).toEqual({ entity: tree.nodeCount + 1, part: 'body' });
    expect(at(tree.nodeCount + 1, -5, 5)).toBeNull();
  });

  test('a scope of a few pixels is hit as a whole', () => {
    expect(at(0, 5, 5, 0.02)).toEqual({ entity: tree.nodeCount + 1, part: 'title' });
  });

  test('finds edges', () => {
    const drawing = { graph, tree, meta, placed, small: new Uint8Array(4) };
    const [x, y] = [placed.left[0]! + placed.width[0]! / 2, placed.top[0]! + placed.height[0]! + 8];
    const edge = edgeAt(drawing, 1, x + 2, y, 5);
    expect([meta.source[edge], meta.target[edge]]).toEqual([0, 1]);
    expect(edgeAt(drawing, 1, x + 40, y, 5)).toBe(-1);
    expect(
      entityLabel(
        tree,
        graph.paths,
        meta.source[
          edgeAt(
            drawing,
            0,
            placed.left[tree.nodeCount + 1]! + placed.plug[1]!,
            placed.top[tree.nodeCount + 1]! + placed.height[tree.nodeCount + 1]! + 6,
            8,
          )
        ]!,
      ),
    ).toBe('a');
  });
});

describe('camera', () => {
  const camera = { x: 10, y: 20, zoom: 0.5 };

  test('screen and graph coordinates are each other’s inverse', () => {
    expect(toGraphX(camera, VIEW, toScreenX(camera, VIEW, 123))).toBeCloseTo(123);
    expect(toGraphY(camera, VIEW, toScreenY(camera, VIEW, -7))).toBeCloseTo(-7);
  });

  test('zooming keeps what is under the pointer', () => {
    const zoomed = zoomAt(camera, VIEW, 200, 600, 3);
    expect(toGraphX(zoomed, VIEW, 200)).toBeCloseTo(toGraphX(camera, VIEW, 200));
    expect(toGraphY(zoomed, VIEW, 600)).toBeCloseTo(toGraphY(camera, VIEW, 600));
    expect(zoomAt(camera, VIEW, 0, 0, 1e9).zoom).toBe(4);
  });

  test('fitting shows all of a rectangle', () => {
    const rect = { x: -50, y: 30, width: 5000, height: 900 };
    const fitted = fitRect(rect, VIEW);
    expect(toScreenX(fitted, VIEW, rect.x)).toBeGreaterThanOrEqual(0);
    expect(toScreenX(fitted, VIEW, rect.x + rect.width)).toBeLessThanOrEqual(VIEW.width);
    expect(fitRect({ x: 0, y: 0, width: 10, height: 10 }, VIEW).zoom).toBeLessThan(1.5);
    expect(centreOn(rect, VIEW, camera).x).toBe(2450);
  });
});

test('zooming around a box keeps it in view while it fits, and one out of view keeps the middle', () => {
  const camera: Camera = { x: 0, y: 0, zoom: 1 };
  const box = { x: 300, y: -290, width: 90, height: 30 };
  let to = camera;
  for (let i = 0; i < 8; i++) to = zoomAround(to, VIEW, box, 1.35);
  expect(to.zoom).toBe(4);
  expect(toScreenX(to, VIEW, box.x)).toBeGreaterThan(0);
  expect(toScreenX(to, VIEW, box.x + box.width)).toBeLessThan(VIEW.width);
  expect(toScreenY(to, VIEW, box.y)).toBeGreaterThan(0);
  expect(toScreenY(to, VIEW, box.y + box.height)).toBeLessThan(VIEW.height);
  for (const none of [null, { ...box, x: 900 }, { ...box, y: 0, height: 2000 }])
    expect(zoomAround(camera, VIEW, none, 2)).toEqual({ x: 0, y: 0, zoom: 2 });
});
