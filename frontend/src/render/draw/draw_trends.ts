/** At high zoom, each node shows its tensor's trend: a line below its texts, the current step, and where it was not finite. */

import { NODE_HEIGHT } from '../../layout/scope/sizes';
import { clamp } from '../../lib/arrays/typed_arrays';
import { formatNumber } from '../../lib/text/format';
import { NOT_CAPTURED } from '../../model/graph/node_values';
import { heightOf, INF_PLACE, NAN_PLACE, type NodeTrend, type NodeTrends, placeOfStep } from '../../model/wire/node_trends';
import type { BoxList } from '../box_list';
import type { Frame, ShownTrends } from '../frame';
import { textScale } from '../text';
import type { BoxStyle } from '../theme';
import { boxKind, boxStyle, NODE } from './draw_boxes';

/** From this zoom a node has room for a line: it is a dozen pixels high. */
const TRENDS_FROM = 1.86;
/** From this zoom its texts gradually move up. */
const ROOM_FROM = 1.72;
/** Maximum number of lines; each costs a request. */
const MOST_TRENDS = 200;
const LEAST_WIDTH = 40;
/** Above the texts, and below the line, in pixels. */
const PADDING = 2;
const BOTTOM = 6;

/** Vertical centre of a node's texts, from its top: higher if a line follows, also while that is loading, so that no text jumps. */
export function textMiddle({ trends, colouring, scene }: Frame, entity: number, height: number): number {
  const captured = trends?.ofNode.has(entity) || colouring.health[entity] !== NOT_CAPTURED;
  if (!trends || !captured || scene.zoom < ROOM_FROM) return height / 2;
  const moved = Math.min(1, (scene.zoom - ROOM_FROM) / (TRENDS_FROM - ROOM_FROM));
  return height / 2 + moved * ((NODE_HEIGHT * textScale(scene.zoom)) / 2 + PADDING - height / 2);
}

/** The number at the current step; empty if there is none, or no room. */
export function trendLabel({ trends, scene }: Frame, entity: number): string {
  if (!trends || scene.zoom < TRENDS_FROM || !trends.ofNode.has(entity)) return '';
  const value = trends.now[entity] ?? Number.NaN;
  if (!Number.isFinite(value)) return '';
  return trends.statistic.endsWith('_share') ? `${formatNumber(100 * value, 3)} %` : formatNumber(value, 3);
}

/** Rows of visible nodes that are large enough for a line. */
export function nodesWithRoom({ scene, drawing }: Frame): number[] {
  const rows: number[] = [];
  if (scene.zoom < TRENDS_FROM) return rows;
  for (let depth = 0; depth < scene.depth; depth++) {
    const { boxes } = scene.level(depth);
    for (let i = 0; i < boxes.count && rows.length < MOST_TRENDS; i++)
      if (boxKind({ drawing }, boxes.entity[i]!) === NODE) rows.push(boxes.entity[i]!);
  }
  return rows.sort((a, b) => a - b);
}

/** Where the line of a box is drawn, in screen pixels. */
interface Plot {
  readonly entity: number;
  readonly trend: NodeTrend;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function drawTrends(frame: Frame, boxes: BoxList): void {
  const { trends, scene } = frame;
  if (!trends || scene.zoom < TRENDS_FROM || trends.ofNode.size === 0) return;
  const byStyle = new Map<BoxStyle, Plot[]>();
  for (let i = 0; i < boxes.count; i++) {
    const entity = boxes.entity[i]!;
    const trend = trends.ofNode.get(entity);
    if (!trend || boxKind(frame, entity) !== NODE) continue;
    const plot = plotOf(boxes, i, trend, textScale(scene.zoom));
    if (plot.width < LEAST_WIDTH) continue;
    const style = boxStyle(frame, entity);
    const same = byStyle.get(style);
    if (same) same.push(plot);
    else byStyle.set(style, [plot]);
  }
  for (const [style, plots] of byStyle) drawPlots(frame, trends, plots, style);
}

function plotOf(boxes: BoxList, i: number, trend: NodeTrend, scale: number): Plot {
  const top = NODE_HEIGHT * scale + PADDING;
  const [left, right] = [14 * scale, 9 * scale];
  return {
    entity: boxes.entity[i]!,
    trend,
    x: boxes.x[i]! + left,
    y: boxes.y[i]! + top,
    width: boxes.width[i]! - left - right,
    height: boxes.height[i]! - top - BOTTOM,
  };
}

function drawPlots(frame: Frame, trends: ShownTrends, plots: readonly Plot[], style: BoxStyle): void {
  const { context, theme } = frame;
  const each = (draw: (plot: Plot) => void): void => {
    context.beginPath();
    plots.forEach(draw);
  };
  context.lineJoin = 'round';
  each((plot) => traceNow(frame, trends, plot));
  context.globalAlpha = 0.35;
  context.strokeStyle = style.text;
  context.lineWidth = 1;
  context.stroke();
  context.globalAlpha = 1;
  each((plot) => traceLine(frame, trends, plot));
  context.strokeStyle = style.subtitle;
  context.lineWidth = 1.5;
  context.stroke();
  for (const [place, colour] of [
    [INF_PLACE, theme.inf.border],
    [NAN_PLACE, theme.nan.border],
  ] as const) {
    each((plot) => traceBad(frame, trends, plot, place));
    context.fillStyle = colour;
    context.fill();
  }
  each((plot) => traceDot(frame, trends, plot));
  context.fillStyle = style.text;
  context.fill();
  context.strokeStyle = style.fill;
  context.lineWidth = 1.25;
  context.stroke();
}

const xOf = ({ first, last }: NodeTrends, { x, width }: Plot, step: number): number => x + (width * (step - first)) / (last - first);

/** Height of the strip at the bottom for non-finite steps. */
const BAD_HEIGHT = 3;
const yOf = ({ trend, y, height }: Plot, value: number): number => y + 1 + (height - BAD_HEIGHT - 3) * (1 - heightOf(trend, value));

/** The line with its gaps; an isolated point is a short dash. */
function traceLine({ context }: Frame, trends: NodeTrends, plot: Plot): void {
  const { step, value } = plot.trend;
  for (let i = 0; i < value.length; i++) {
    if (!Number.isFinite(value[i])) continue;
    const [x, y] = [xOf(trends, plot, step[i]!), yOf(plot, value[i]!)];
    if (i > 0 && Number.isFinite(value[i - 1])) context.lineTo(x, y);
    else if (Number.isFinite(value[i + 1])) context.moveTo(x, y);
    else {
      context.moveTo(x - 1, y);
      context.lineTo(x + 1, y);
    }
  }
}

/** The current step. */
function traceNow({ context }: Frame, trends: NodeTrends, plot: Plot): void {
  const x = Math.round(xOf(trends, plot, clamp(trends.step, trends.first, trends.last))) + 0.5;
  context.moveTo(x, plot.y);
  context.lineTo(x, plot.y + plot.height);
}

/** Non-finite steps: strips at the bottom, NaN higher than infinities. A point extends halfway to the next ones. */
function traceBad({ context }: Frame, trends: NodeTrends, plot: Plot, place: number): void {
  const { step, health } = plot.trend;
  const height = place === NAN_PLACE ? BAD_HEIGHT : BAD_HEIGHT - 1;
  const at = (i: number): number => xOf(trends, plot, step[clamp(i, 0, step.length - 1)]!);
  for (let i = 0; i < health.length; i++) {
    if (health[i] !== place) continue;
    const from = Math.min((at(i - 1) + at(i)) / 2, at(i) - 1);
    const to = Math.max((at(i) + at(i + 1)) / 2, at(i) + 1);
    context.rect(from, plot.y + plot.height - height, to - from, height);
  }
}

/** On the line, also if a point spans several steps. */
function traceDot({ context }: Frame, trends: ShownTrends, plot: Plot): void {
  const value = plot.trend.value[placeOfStep(plot.trend, trends.step)] ?? Number.NaN;
  if (!Number.isFinite(value) || !Number.isFinite(trends.now[plot.entity])) return;
  const [x, y] = [xOf(trends, plot, clamp(trends.step, trends.first, trends.last)), yOf(plot, value)];
  context.moveTo(x + 2.75, y);
  context.arc(x, y, 2.75, 0, 2 * Math.PI);
}
