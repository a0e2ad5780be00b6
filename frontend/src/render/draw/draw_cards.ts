/** Paints the layer view: frames, edges, cards with texts, histograms and lines. */

import { type CardPicture, type CardSize, FRAME_TITLE, type PlacedCard } from '../../layout/card_layout';
import { textWidth } from '../../layout/scope/sizes';
import { formatCount, formatNumber } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { lossHeight } from '../../model/charts/loss_line';
import { type CardStatistics, measureText } from '../../model/layers/card_statistics';
import type { Item } from '../../model/layers/folding';
import { heightOf, INF_PLACE, NAN_PLACE, type NodeTrend, placeOfStep } from '../../model/wire/node_trends';
import type { SmallHistogram } from '../../model/wire/step_histograms';
import { type Camera, toGraphX, toGraphY, type View } from '../camera';
import { traceArrow, traceRoute } from '../edge_paths';
import type { DrawingContext } from '../frame';
import { fontOf, type TextFitter, type Weight } from '../text';
import type { BoxStyle, Theme } from '../theme';

const WIDTH = 328;
const HEIGHT = 92;
const [BARE_WIDTH, BARE_HEIGHT] = [240, 64];
/** Height of the cells below a repeated card, one per repetition. */
const CELLS = 22;
const INPUT = { width: 190, height: 44 };
const LOSS = { width: 230, height: 58 };
const OPERATOR_HEIGHT = 28;
const MARGIN = 11;
/** The histogram and the line stand on the right. */
const PLOT = { width: 58, height: 34, gap: 6, top: 22 };

/** `bare`: nothing was captured, so cards only contain text. */
export function cardSize(item: Item, bare = false): CardSize {
  if (item.kind === 'input') return INPUT;
  if (item.kind === 'loss') return LOSS;
  if (item.kind === 'op') return { width: Math.min(200, 26 + textWidth(visible(item.title), 12)), height: OPERATOR_HEIGHT };
  const height = bare ? BARE_HEIGHT : HEIGHT;
  return { width: bare ? BARE_WIDTH : WIDTH, height: item.variants.length > 1 ? height + CELLS : height };
}

/** Data of the cards at the current step. */
export interface CardData {
  readonly style: (item: Item, statistics: CardStatistics | null) => BoxStyle;
  readonly statistics: (item: Item) => CardStatistics | null;
  /** Of each repetition. */
  readonly cells: (item: Item) => readonly (CardStatistics | null)[];
  readonly histogram: (item: Item) => SmallHistogram | undefined;
  readonly trend: (item: Item) => { readonly trend: NodeTrend; readonly label: string } | undefined;
  readonly step: number;
}

export interface CardFrame {
  readonly context: DrawingContext & Pick<CanvasRenderingContext2D, 'setTransform'>;
  readonly picture: CardPicture;
  readonly camera: Camera;
  readonly view: View;
  /** Screen pixels per pixel of the page. */
  readonly ratio: number;
  readonly theme: Theme;
  readonly fitter: TextFitter;
  readonly data: CardData;
  readonly selected: string | null;
  readonly hovered: string | null;
  /** Keys of the inputs and consumers of the selected card. */
  readonly neighbours: ReadonlySet<string>;
}

/** From this zoom, details are drawn; below it, names as large as possible, and pictures. */
const TEXTS_FROM = 0.62;
const PLOTS_FROM = 0.3;

export function paintCards(frame: CardFrame): void {
  const { context, picture, camera, view, ratio, theme } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, view.width, view.height);
  const { zoom } = camera;
  context.setTransform(
    ratio * zoom,
    0,
    0,
    ratio * zoom,
    ratio * (view.width / 2 - camera.x * zoom),
    ratio * (view.height / 2 - camera.y * zoom),
  );
  const inView = seenBy(camera, view);
  for (const placed of picture.frames) if (inView(placed)) drawFrame(frame, placed);
  drawEdges(frame);
  for (const placed of picture.cards) if (inView(placed)) drawCard(frame, placed);
}

function seenBy(camera: Camera, view: View): (box: PlacedCard) => boolean {
  const [left, top] = [toGraphX(camera, view, -20), toGraphY(camera, view, -20)];
  const [right, bottom] = [toGraphX(camera, view, view.width + 20), toGraphY(camera, view, view.height + 20)];
  return ({ x, y, width, height }) => x < right && x + width > left && y < bottom && y + height > top;
}

function drawFrame({ context, theme, camera, selected, fitter }: CardFrame, { item, x, y, width, height, depth }: PlacedCard): void {
  if (item.variants.length > 1) drawStack(context, theme.scopes[2]!, theme.scopeBorder, x, y, width, height, 10);
  context.beginPath();
  context.roundRect(x, y, width, height, 10);
  context.fillStyle = theme.scopes[Math.min(depth + 1, theme.scopes.length - 1)]!;
  context.fill();
  context.strokeStyle = item.key === selected ? theme.selection : theme.scopeBorder;
  context.lineWidth = item.key === selected ? 2.5 / Math.min(1, camera.zoom) : 1;
  context.stroke();
  if (camera.zoom < PLOTS_FROM) return;
  drawSign(context, theme.scopeTitle, x + 14, y + FRAME_TITLE / 2, true);
  const times = item.variants.length > 1 ? ` × ${item.variants.length}` : '';
  const note = callText(item) || item.className;
  const size = Math.min(20, Math.max(12.5, 9 / camera.zoom));
  write(context, theme.scopeTitle, size, 600, x + 26, y + FRAME_TITLE / 2, fitter.fit(visible(item.title) + times, size, 600, width - 130));
  context.textAlign = 'right';
  write(context, theme.scopeTitle, 10.5, 400, x + width - 12, y + FRAME_TITLE / 2, fitter.fit(note, 10.5, 400, 90));
  context.textAlign = 'left';
}

/** Two more cards behind one that stands for several. */
function drawStack(
  context: DrawingContext,
  fill: string,
  stroke: string,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
) {
  context.lineWidth = 1;
  for (const shift of [8, 4]) {
    context.beginPath();
    context.roundRect(x + shift, y + shift, width, height, radius);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = stroke;
    context.stroke();
  }
}

function drawEdges({ context, picture, theme, camera, selected }: CardFrame): void {
  const pass = (wanted: (from: string, to: string) => boolean, colour: string, width: number): void => {
    const edges = picture.edges.filter(({ from, to }) => wanted(from, to));
    context.beginPath();
    for (const { route } of edges) traceRoute(context, route, 0, route.length / 2, 0, 0, 1);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
    if (camera.zoom < 0.2) return;
    context.beginPath();
    for (const { route } of edges) traceArrow(context, route, 0, route.length / 2, 0, 0, 1, 7);
    context.fillStyle = colour;
    context.fill();
  };
  const touches = (from: string, to: string): boolean => selected !== null && (from === selected || to === selected);
  const width = 1.4 / Math.max(0.35, Math.min(1, camera.zoom));
  pass((from, to) => !touches(from, to), theme.edge, width);
  if (selected !== null) pass(touches, theme.selection, 1.4 * width);
}

function drawCard(frame: CardFrame, placed: PlacedCard): void {
  const { context, theme, camera, data, selected, hovered, neighbours } = frame;
  const { item, x, y, width, height } = placed;
  const statistics = data.statistics(item);
  const style = data.style(item, statistics);
  const radius = item.kind === 'op' ? height / 2 : 8;
  if (item.variants.length > 1) drawStack(context, theme.closed.fill, style.border, x, y, width, height, radius);
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.fillStyle = style.fill;
  context.fill();
  const [chosen, beside] = [item.key === selected, item.key === hovered || neighbours.has(item.key)];
  context.strokeStyle = chosen ? theme.selection : beside ? theme.hover : style.border;
  context.lineWidth = (chosen ? 3 : beside ? 2 : 1) / Math.min(1, Math.max(0.4, camera.zoom));
  context.stroke();
  if (item.kind === 'op') drawOperator(frame, placed, style);
  else if (camera.zoom < PLOTS_FROM) drawTitleOnly(frame, placed, style);
  else if (camera.zoom < TEXTS_FROM) drawOverview(frame, placed, style, statistics);
  else drawContent(frame, placed, style, statistics);
  drawBadge(frame, placed, statistics);
}

function drawOperator({ context, fitter, camera }: CardFrame, { item, x, y, width, height }: PlacedCard, style: BoxStyle): void {
  if (camera.zoom < PLOTS_FROM) return;
  context.textAlign = 'center';
  const size = Math.min(16, Math.max(12, 8 / camera.zoom));
  write(context, style.text, size, 500, x + width / 2, y + height / 2, fitter.fit(visible(item.title), size, 500, width - 10));
  context.textAlign = 'left';
}

/** At low zoom: a title as large as the card. */
function drawTitleOnly({ context, fitter, camera }: CardFrame, { item, x, y, width, height }: PlacedCard, style: BoxStyle): void {
  if (camera.zoom < 0.09) return;
  const size = Math.min(9 / camera.zoom, height * 0.55);
  write(context, style.text, size, 600, x + MARGIN, y + height / 2, fitter.fit(visible(item.title), size, 600, width - 2 * MARGIN));
}

/** At medium zoom: name, shape and pictures in readable letters. */
function drawOverview(frame: CardFrame, placed: PlacedCard, style: BoxStyle, statistics: CardStatistics | null): void {
  const { item, x, y, width } = placed;
  const { context, fitter, data, camera } = frame;
  const height = placed.height - (item.variants.length > 1 ? CELLS : 0);
  const small = height < HEIGHT - CELLS;
  const [size, second] = [Math.min(small ? 20 : 32, 10.5 / camera.zoom), Math.min(small ? 17 : 26, 9 / camera.zoom)];
  const room = width - 2 * MARGIN;
  const oneLine = size + second + 12 > height;
  const name = oneLine ? y + height / 2 : y + 5 + size / 2;
  write(context, style.text, size, 600, x + MARGIN, name, fitter.fit(titleText(item), size, 600, room));
  if (oneLine) return;
  const [histogram, line] = item.kind === 'input' ? [] : [item.kind === 'loss' ? undefined : data.histogram(item), data.trend(item)];
  const top = y + (small ? 20 : 44);
  let right = x + width - MARGIN;
  if (line) {
    drawTrend(frame, item, line.trend, right - PLOT.width, top, style);
    right -= PLOT.width + PLOT.gap;
  }
  if (histogram) {
    drawHistogram(frame, histogram, right - PLOT.width, top, PLOT.height, style);
    right -= PLOT.width + PLOT.gap;
  }
  const text = item.kind === 'loss' ? lossText(statistics) : visible(shapeText(item, statistics));
  const below = small ? y + height - 5 - second / 2 : y + 50 + second / 2;
  write(context, style.subtitle, second, 400, x + MARGIN, below, fitter.fit(text, second, 400, right - x - MARGIN));
  if (item.variants.length > 1) drawCells(frame, placed);
}

function titleText({ title, names, variants }: Item): string {
  return visible(title) + (variants.length > 1 ? ` … ${visible(names[names.length - 1]!)}` : '');
}

function drawContent(frame: CardFrame, placed: PlacedCard, style: BoxStyle, statistics: CardStatistics | null): void {
  const { context, fitter, data } = frame;
  const { item, x, y, width } = placed;
  const [histogram, line] = [data.histogram(item), data.trend(item)];
  const isCard = item.kind === 'layer' || item.kind === 'block';
  const plots = Number(histogram !== undefined && item.kind !== 'loss') + Number(line !== undefined && item.kind !== 'input');
  const room = width - 2 * MARGIN - plots * (PLOT.width + PLOT.gap);
  const left = x + MARGIN + (item.kind === 'block' ? 16 : 0);
  if (item.kind === 'block') drawSign(context, style.subtitle, x + MARGIN + 4, y + 17, false);
  write(
    context,
    style.text,
    13.5,
    600,
    left,
    y + 17,
    fitter.fit(titleText(item), 13.5, 600, (isCard ? width - 2 * MARGIN : room) - (left - x - MARGIN)),
  );
  const times = item.variants.length > 1 ? `${item.variants.length} × ` : '';
  const call = callText(item);
  const shape = visible(shapeText(item, statistics));
  const second =
    item.kind === 'input' ? shape : item.kind === 'loss' ? lossText(statistics) : times + visible(item.className) + (call && ` · ${call}`);
  write(context, style.subtitle, 11.5, 400, x + MARGIN, y + (isCard ? 35 : 33), fitter.fit(second, 11.5, 400, room));
  if (isCard) {
    const size = item.parameters > 0 ? ` · ${shortCount(item.parameters * item.variants.length)} params` : '';
    write(context, style.subtitle, 11, 400, x + MARGIN, y + 51, fitter.fit(shape + size, 11, 400, room));
    write(context, style.subtitle, 11, 400, x + MARGIN, y + 78, fitter.fit(measuresText(statistics), 11, 400, width - 2 * MARGIN));
  }
  let right = x + width - MARGIN;
  const top = isCard ? y + PLOT.top + 3 : item.kind === 'loss' ? y + 12 : y + 6;
  if (line && item.kind !== 'input') {
    drawTrend(frame, item, line.trend, right - PLOT.width, top, style);
    if (isCard) caption(frame, line.label, right - PLOT.width, top, style);
    right -= PLOT.width + PLOT.gap;
  }
  if (histogram && isCard) caption(frame, 'output', right - PLOT.width, top, style);
  if (histogram && item.kind !== 'loss')
    drawHistogram(frame, histogram, right - PLOT.width, top, item.kind === 'input' ? 30 : PLOT.height, style);
  if (item.variants.length > 1) drawCells(frame, placed);
}

/** Caption of a small picture. */
function caption({ context, camera, fitter }: CardFrame, text: string, x: number, y: number, style: BoxStyle): void {
  if (camera.zoom < 0.6) return;
  context.textAlign = 'center';
  write(context, style.subtitle, 9, 400, x + PLOT.width / 2, y + PLOT.height + 7, fitter.fit(text, 9, 400, PLOT.width + PLOT.gap));
  context.textAlign = 'left';
}

/** The output's shape at this step; if not captured, the graph's, with unknown dimensions. */
export function shapeText({ shape }: Item, statistics: CardStatistics | null): string {
  return statistics?.shape || shape;
}

function callText({ call, calls }: Item): string {
  return calls > 1 ? `call ${call + 1} of ${calls}` : '';
}

function lossText(statistics: CardStatistics | null): string {
  if (statistics === null) return '';
  if (statistics.nan > 0) return 'NaN';
  return Number.isFinite(statistics.mean) ? `${formatNumber(statistics.mean)} at this step` : statistics.inf > 0 ? 'Inf' : 'not captured';
}

/** Gradient norm, update ratio and % zeros, as far as known. */
export function measuresText(statistics: CardStatistics | null): string {
  if (statistics === null) return '';
  const { gradientNorm, updateRatio, zeroShare } = statistics;
  return [
    !Number.isNaN(gradientNorm) && `|grad| ${measureText(gradientNorm, 2)}`,
    !Number.isNaN(updateRatio) && `Δw/w ${measureText(updateRatio, 2)}`,
    zeroShare >= 0.005 && `${formatNumber(100 * zeroShare, 2)} % zeros`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** `37.8 M`. */
export function shortCount(count: number): string {
  if (count < 1e4) return formatCount(count);
  const [divisor, unit] = count < 1e6 ? [1e3, 'k'] : count < 1e9 ? [1e6, 'M'] : [1e9, 'B'];
  return `${formatNumber(count / divisor, 3)} ${unit}`;
}

function write(context: DrawingContext, colour: string, size: number, weight: Weight, x: number, y: number, text: string): void {
  if (text === '') return;
  context.font = fontOf(size, weight);
  context.textBaseline = 'middle';
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** A plus on cards that can expand, a minus on expanded ones. */
function drawSign(context: DrawingContext, colour: string, x: number, y: number, isOpen: boolean): void {
  context.beginPath();
  context.roundRect(x - 5, y - 5, 10, 10, 2);
  context.moveTo(x - 2.5, y);
  context.lineTo(x + 2.5, y);
  if (!isOpen) {
    context.moveTo(x, y - 2.5);
    context.lineTo(x, y + 2.5);
  }
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.stroke();
}

function drawHistogram(
  { context, theme }: CardFrame,
  { counts, low, high }: SmallHistogram,
  x: number,
  y: number,
  height: number,
  style: BoxStyle,
): void {
  const most = tallest(counts);
  const width = PLOT.width / counts.length;
  if (low < 0 && high > 0) {
    const zero = x + (PLOT.width * -low) / (high - low);
    context.beginPath();
    context.moveTo(zero, y);
    context.lineTo(zero, y + height);
    context.strokeStyle = style.border;
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    context.stroke();
    context.globalAlpha = 1;
  }
  context.beginPath();
  counts.forEach((count, i) => {
    if (count === 0) return;
    const bar = Math.max(1, Math.min(1, count / most) * (height - 2));
    context.rect(x + i * width, y + height - bar, Math.max(0.6, width - 0.4), bar);
  });
  context.fillStyle = isColoured(theme, style) ? style.text : theme.families.linear;
  context.fill();
  drawBase(context, x, y + height, style);
}

/** Scale of the bars. A dominating bin, like the zeros of a ReLU, is clipped so that others are visible. */
function tallest(counts: Float64Array): number {
  const [first = 0, second = 0] = [...counts].sort((a, b) => b - a);
  return first > 3 * second && second > 0 ? 1.3 * second : first;
}

/** On a coloured card only the text colour is readable. */
const isColoured = (theme: Theme, style: BoxStyle): boolean =>
  ![theme.node, theme.closed, theme.hollow, theme.nan, theme.inf].includes(style);

function drawBase(context: DrawingContext, x: number, y: number, style: BoxStyle): void {
  context.beginPath();
  context.moveTo(x, y + 0.5);
  context.lineTo(x + PLOT.width, y + 0.5);
  context.strokeStyle = style.border;
  context.lineWidth = 1;
  context.stroke();
}

function drawTrend({ context, theme, data }: CardFrame, item: Item, trend: NodeTrend, x: number, y: number, style: BoxStyle): void {
  const { step, value, health } = trend;
  const [first, last] = [step[0]!, step[step.length - 1]!];
  const xOf = (at: number): number => x + (last > first ? (PLOT.width * (at - first)) / (last - first) : PLOT.width / 2);
  const share = item.kind === 'loss' ? lossHeight : heightOf;
  const yOf = (number: number): number => y + 2 + (PLOT.height - 6) * (1 - share(trend, number));
  context.beginPath();
  for (let i = 0; i < value.length; i++) {
    if (!Number.isFinite(value[i])) continue;
    if (i > 0 && Number.isFinite(value[i - 1])) context.lineTo(xOf(step[i]!), yOf(value[i]!));
    else context.moveTo(xOf(step[i]!), yOf(value[i]!));
  }
  context.lineJoin = 'round';
  context.lineWidth = 1.5;
  context.strokeStyle = isColoured(theme, style) ? style.text : theme.families.state;
  context.stroke();
  for (const [place, colour] of [
    [INF_PLACE, theme.inf.border],
    [NAN_PLACE, theme.nan.border],
  ] as const) {
    context.beginPath();
    health.forEach((state, i) => {
      if (state === place) context.rect(xOf(step[i]!) - 1, y + PLOT.height - 4, 3, 4);
    });
    context.fillStyle = colour;
    context.fill();
  }
  const now = trend.value[placeOfStep(trend, data.step)] ?? Number.NaN;
  if (Number.isFinite(now)) {
    context.beginPath();
    context.arc(Math.min(x + PLOT.width, Math.max(x, xOf(data.step))), yOf(now), 2.6, 0, 2 * Math.PI);
    context.fillStyle = isColoured(theme, style) ? style.text : theme.families.state;
    context.fill();
    context.strokeStyle = style.fill;
    context.lineWidth = 1;
    context.stroke();
  }
  drawBase(context, x, y + PLOT.height, style);
}

/** One cell per repetition, in its colour. */
function drawCells({ context, data, theme }: CardFrame, { item, x, y, width, height }: PlacedCard): void {
  const cells = data.cells(item);
  const size = Math.min(20, (width - 2 * MARGIN) / cells.length);
  cells.forEach((statistics, i) => {
    const style = data.style(item, statistics);
    const bad = (statistics?.nan ?? 0) + (statistics?.inf ?? 0) > 0;
    context.beginPath();
    context.roundRect(x + MARGIN + i * size, y + height - CELLS, size - 2, 14, 3);
    context.fillStyle = bad ? style.border : style === theme.closed || style === theme.node ? theme.closed.solid : style.fill;
    context.fill();
    if (style.border !== style.fill && !bad) {
      context.strokeStyle = style.border;
      context.lineWidth = 0.8;
      context.stroke();
    }
  });
}

function drawBadge({ context, theme, camera }: CardFrame, { item, x, y, width }: PlacedCard, statistics: CardStatistics | null): void {
  const text = badgeText(item, statistics);
  if (text === '') return;
  const scale = 1 / Math.min(1, Math.max(0.5, camera.zoom));
  const [wide, high] = [(text.length > 3 ? 62 : 34) * scale, 16 * scale];
  // Mostly above the card, whose name is as wide as the card.
  const [left, top] = [x + width - wide - 8, y - 0.75 * high];
  context.beginPath();
  context.roundRect(left, top, wide, high, high / 2);
  context.fillStyle = text === 'NaN' ? theme.nan.border : theme.inf.border;
  context.fill();
  context.textAlign = 'center';
  write(context, theme.name === 'dark' ? '#14171d' : '#ffffff', 10.5 * scale, 600, left + wide / 2, top + high / 2 + 0.5, text);
  context.textAlign = 'left';
}

/** Problem of a card at this step: NaN, Inf, or a dead layer. */
function badgeText({ kind }: Item, statistics: CardStatistics | null): string {
  if (statistics === null) return '';
  if (statistics.nan > 0) return 'NaN';
  if (statistics.inf > 0) return 'Inf';
  return kind === 'layer' && statistics.zeroShare === 1 ? 'all zeros' : '';
}
