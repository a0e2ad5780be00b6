import { describe, expect, test } from 'vitest';
import { randomNumbers } from '../../model/graph/graph_fixture';
import { layered, pieceLayouts } from './layered';
import { FOLDING, type LayeredInput, type Placement } from './layered_input';

const filled = (count: number, value: number) => new Array<number>(count).fill(value);

function chainOfBoxes(count: number, width: number): LayeredInput {
  const source = Array.from({ length: count - 1 }, (_, i) => i);
  return {
    count,
    width: filled(count, width),
    height: filled(count, 36),
    restWidth: filled(count, width),
    restHeight: filled(count, 36),
    inOffset: filled(count, 0),
    outOffset: filled(count, 0),
    inset: filled(count, 0),
    plug: filled(count, 0),
    source,
    target: source.map((i) => i + 1),
    weight: filled(count - 1, 1),
    folding: FOLDING,
  };
}

test('of many pieces equal ones share a layout, which is the one that each would get', () => {
  const layoutOf = pieceLayouts(100);
  const [first, again, wider, longer] = [chainOfBoxes(4, 90), chainOfBoxes(4, 90), chainOfBoxes(4, 91), chainOfBoxes(5, 90)].map(layoutOf);
  expect(again).toBe(first);
  expect(first).toEqual(layered(chainOfBoxes(4, 90)));
  expect(wider).toEqual(layered(chainOfBoxes(4, 91)));
  expect(longer).toEqual(layered(chainOfBoxes(5, 90)));
});

test('pieces too large to be repeated, and single ones, are laid out as ever', () => {
  const layoutOf = pieceLayouts(100);
  expect(layoutOf(chainOfBoxes(300, 90))).toEqual(layered(chainOfBoxes(300, 90)));
  expect(layoutOf(chainOfBoxes(1, 70))).toEqual(layered(chainOfBoxes(1, 70)));
});

function problem(
  count: number,
  edges: readonly (readonly [number, number])[],
  sizes: { width?: number[]; height?: number[] } = {},
): LayeredInput {
  const fill = (value: number) => new Array<number>(count).fill(value);
  const [width, height] = [sizes.width ?? fill(100), sizes.height ?? fill(36)];
  return {
    count,
    width,
    height,
    restWidth: width,
    restHeight: height,
    inOffset: fill(0),
    outOffset: fill(0),
    inset: fill(0),
    plug: fill(0),
    source: edges.map(([a]) => a),
    target: edges.map(([, b]) => b),
    weight: edges.map(() => 1),
    folding: FOLDING,
  };
}

function overlaps({ count, width, height }: LayeredInput, { x, y }: Placement): number {
  let pairs = 0;
  for (let a = 0; a < count; a++) {
    for (let b = a + 1; b < count; b++) {
      const apartX = Math.abs(x[a]! - x[b]!) >= (width[a]! + width[b]!) / 2 - 1e-6;
      const apartY = Math.abs(y[a]! - y[b]!) >= (height[a]! + height[b]!) / 2 - 1e-6;
      if (!apartX && !apartY) pairs++;
    }
  }
  return pairs;
}

function random(count: number, perNode: number, seed: number, back = 0): [number, number][] {
  const next = randomNumbers(seed);
  const edges: [number, number][] = [];
  for (let b = 1; b < count; b++) {
    for (let k = 0; k < perNode; k++) {
      const a = Math.floor(next() * b);
      edges.push(next() < back ? [b, a] : [a, b]);
    }
  }
  return edges;
}

const chain = (count: number): [number, number][] => Array.from({ length: count - 1 }, (_, i) => [i, i + 1]);

describe('layered', () => {
  test.each([
    ['a sparse graph', 60, 1, 0],
    ['a dense one', 60, 3, 0],
    ['one with cycles', 60, 2, 0.2],
    ['one too large for waypoints', 1800, 1, 0],
  ])('boxes of %s do not overlap and stay in the frame', (_, count, perNode, back) => {
    const next = randomNumbers(3);
    const given = problem(count, random(count, perNode, 5, back), {
      width: Array.from({ length: count }, () => 40 + next() * 200),
      height: Array.from({ length: count }, () => 18 + next() * 90),
    });
    const placed = layered(given);
    expect(overlaps(given, placed)).toBe(0);
    for (let v = 0; v < count; v++) {
      expect(placed.x[v]! - given.width[v]! / 2).toBeGreaterThanOrEqual(-1e-6);
      expect(placed.x[v]! + given.width[v]! / 2).toBeLessThanOrEqual(placed.width + 1e-6);
      expect(placed.y[v]! + given.height[v]! / 2).toBeLessThanOrEqual(placed.height + 1e-6);
    }
  });

  test('edges run downwards, from the bottom of a box to the top of another', () => {
    const edges = random(40, 2, 11);
    const given = problem(40, edges);
    const { x, y, routes } = layered(given);
    edges.forEach(([a, b], e) => {
      const route = routes[e]!;
      expect(route.slice(0, 2)).toEqual([x[a], y[a]! + 18]);
      expect(route[route.length - 1]).toBe(y[b]! - 18);
      expect(Math.abs(route[route.length - 2]! - x[b]!)).toBeLessThanOrEqual(50);
      expect(y[b]).toBeGreaterThan(y[a]!);
    });
  });

  test('an edge that closes a cycle runs upwards', () => {
    const { y, routes } = layered(
      problem(3, [
        [0, 1],
        [1, 2],
        [2, 0],
      ]),
    );
    const back = routes[2]!;
    expect(y[0]).toBeLessThan(y[2]!);
    expect(back[1]).toBe(y[2]! - 18);
    expect(back[back.length - 1]).toBe(y[0]! + 18);
  });

  test('of a cycle the lightest edge is turned', () => {
    const edges: [number, number][] = [
      [0, 1],
      [1, 2],
      [2, 0],
    ];
    const given = problem(3, edges);
    const { y } = layered({ ...given, weight: [1, 9, 9] });
    expect([y[1]! < y[2]!, y[2]! < y[0]!]).toEqual([true, true]);
  });

  test('a chain is one straight line', () => {
    const { x, width } = layered(problem(12, chain(12)));
    expect(new Set(x)).toEqual(new Set([50]));
    expect(width).toBe(100);
  });

  test('a long chain is folded into columns, not a tower', () => {
    const { width, height } = layered(problem(100, chain(100)));
    expect(height / width).toBeLessThan(1.5);
    expect(height / width).toBeGreaterThan(0.3);
  });

  test('an edge over many ranks is straight for most of them', () => {
    const { routes } = layered(problem(10, [...chain(10), [0, 9]]));
    const xs = new Set(routes[9]!.filter((_, i) => i % 2 === 0).map((x) => Math.round(x)));
    expect(xs.size).toBeLessThanOrEqual(3);
  });

  test('a source stands right above what it feeds', () => {
    const { y } = layered(problem(7, [...chain(6), [6, 5]]));
    expect(y[6]).toBe(y[4]);
  });

  test('side branches make no crossings', () => {
    const edges: [number, number][] = [
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 4],
      [3, 5],
      [4, 5],
    ];
    const { x } = layered(problem(6, edges));
    expect(Math.sign(x[1]! - x[2]!)).toBe(Math.sign(x[3]! - x[4]!));
  });

  test('a chain beside another branch is straight, and what it branches from stands between the two', () => {
    const { x } = layered(problem(10, [...chain(9), [0, 9], [9, 8]]));
    const straight = [1, 2, 3, 4, 5, 6, 7].map((v) => Math.round(x[v]!));
    expect(new Set(straight).size).toBe(1);
    expect(x[0]).toBeGreaterThan(Math.min(x[1]!, x[9]!));
    expect(x[0]).toBeLessThan(Math.max(x[1]!, x[9]!));
  });

  test('the screen says from which height on a chain is folded, and how wide', () => {
    const given = problem(20, chain(20));
    expect(layered(given).width).toBe(100);
    const folded = layered({ ...given, folding: { ...FOLDING, tall: 600, proportion: 1 } });
    expect(folded.height).toBeLessThan(700);
    expect(folded.width).toBeGreaterThan(200);
  });

  test('the same problem has the same layout', () => {
    const given = problem(200, random(200, 2, 17, 0.1));
    expect(layered(given)).toEqual(layered(given));
  });
});
