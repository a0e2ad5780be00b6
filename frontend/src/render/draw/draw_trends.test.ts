import { expect, test } from 'vitest';
import { makeGraph, treeAndMeta } from '../../model/graph/graph_fixture';
import { smallNodes } from '../../model/graph/op_kinds';
import type { NodeTrend } from '../../model/wire/node_trends';
import { BoxList } from '../box_list';
import type { Frame } from '../frame';
import { themeOf } from '../theme';
import { drawTrends, nodesWithRoom, textMiddle, trendLabel } from './draw_trends';

const graph = makeGraph(['a/x', 'a/y'], ['a/x -> a/y']);
const { tree, meta } = treeAndMeta(graph);
const [WIDTH, HEIGHT] = [200, 90];

const trend: NodeTrend = {
  step: Float64Array.of(0, 1, 2, 3, 4),
  value: Float64Array.of(1, 3, Number.NaN, 2, 2),
  health: Uint8Array.of(1, 1, 3, 2, 1),
  low: 1,
  high: 3,
};

interface Drawn {
  readonly kind: 'line' | 'bar' | 'dot';
  readonly x: number;
  readonly y: number;
  readonly wide: number;
  readonly colour: string;
}

/** What is drawn for both nodes, of which only the first was captured. */
function drawn(zoom: number, statistic: 'abs_max' | 'zero_share' = 'abs_max') {
  const boxes = new BoxList();
  boxes.push(0, 0, 0, WIDTH, HEIGHT, 255);
  boxes.push(1, 0, 200, WIDTH, HEIGHT, 255);
  const [marks, path]: [Drawn[], Omit<Drawn, 'colour'>[]] = [[], []];
  const take = (colour: string) => marks.push(...path.splice(0).map((mark) => ({ ...mark, colour })));
  const context = {
    ...{ fillStyle: '', strokeStyle: '', beginPath: () => path.splice(0), moveTo() {} },
    lineTo: (x: number, y: number) => path.push({ kind: 'line', x, y, wide: 0 }),
    rect: (x: number, y: number, wide: number) => path.push({ kind: 'bar', x, y, wide }),
    arc: (x: number, y: number) => path.push({ kind: 'dot', x, y, wide: 0 }),
    fill: () => take(context.fillStyle),
    stroke: () => take(context.strokeStyle),
  };
  const theme = themeOf('light');
  const frame = {
    ...{ context, theme, scene: { zoom, depth: 1, level: () => ({ boxes }) } },
    drawing: { graph, tree, meta, small: smallNodes(graph.opTypes) },
    colouring: { index: new Uint8Array(9), styles: [theme.node], health: Uint8Array.of(2, 0, 0, 0, 0) },
    trends: { statistic, first: 0, last: 4, step: 1, ofNode: new Map([[0, trend]]), now: Float64Array.of(0.5, Number.NaN) },
  } as unknown as Frame;
  drawTrends(frame, boxes);
  return { frame, marks, theme };
}

test('a node has a line below its texts, within its box, with a gap where nothing was finite', () => {
  const { marks, frame } = drawn(2.5);
  const line = marks.filter(({ kind, colour }) => kind === 'line' && colour === themeOf('light').node.subtitle);
  expect(line).toHaveLength(2);
  for (const { x, y } of marks) {
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x).toBeLessThanOrEqual(WIDTH);
    expect(y).toBeGreaterThan(2 * textMiddle(frame, 0, HEIGHT) - 4);
    expect(y).toBeLessThan(HEIGHT);
  }
});

test('steps with NaN and infinities have strips in their colours, the current step a dot', () => {
  const { marks, theme } = drawn(2.5);
  const bars = marks.filter(({ kind }) => kind === 'bar');
  expect(bars.map(({ colour }) => colour)).toEqual([theme.inf.border, theme.nan.border]);
  const [inf, nan] = bars;
  expect(nan!.x + nan!.wide).toBeCloseTo(inf!.x);
  expect(marks.filter(({ kind, colour }) => kind === 'dot' && colour === theme.node.text)).toHaveLength(1);
});

test('texts make room little by little, and only where a line may come', () => {
  const middles = [1, 1.7, 1.8, 1.9, 3].map((zoom) => textMiddle(drawn(zoom).frame, 0, 36 * zoom) / zoom);
  expect(middles.slice(0, 2)).toEqual([18, 18]);
  expect(middles.toSorted((a, b) => b - a)).toEqual(middles);
  expect(textMiddle(drawn(3).frame, 1, HEIGHT)).toBe(HEIGHT / 2);
});

test('lines and numbers are there close up only', () => {
  expect(nodesWithRoom(drawn(2).frame)).toEqual([0, 1]);
  expect(trendLabel(drawn(2).frame, 0)).toBe('0.5');
  expect(trendLabel(drawn(2, 'zero_share').frame, 0)).toBe('50 %');
  expect(trendLabel(drawn(2).frame, 1)).toBe('');
  const { frame, marks } = drawn(1.5);
  expect([nodesWithRoom(frame), trendLabel(frame, 0), marks]).toEqual([[], '', []]);
});
