import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import '../graph/graph.css';
import '../graph/legend.css';
import '../graph/overlays.css';
import './layers.css';
import { signal } from '@preact/signals';
import type { PlacedCard } from '../../layout/card_layout';
import { registerGraphProbe } from '../../lib/probe';
import { counted, formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { type CardStatistics, meanText, measureText, NOT_CAPTURED, zerosText } from '../../model/layers/card_statistics';
import type { CardWeight } from '../../model/layers/card_weights';

import type { Item } from '../../model/layers/folding';
import { rowOf } from '../../model/wire/graph';
import { cardColouring } from '../../render/card_colouring';
import { type CardData, measuresText, shapeText, shortCount } from '../../render/draw/draw_cards';
import { themeOf } from '../../render/theme';
import { graph, overlay } from '../../state/graph/graph';
import {
  cardHistograms,
  cardTrends,
  graphLayers,
  itemOf,
  itemStatistics,
  layerLevel,
  outputOf,
  shownItems,
  statisticsOf,
  toggleItem,
  trendTensor,
} from '../../state/graph/layers';
import { cardColour, chosenLayer } from '../../state/page/choices';
import { theme } from '../../state/page/preferences';
import { detailOutdated, graphId, run } from '../../state/runs';
import { selectedNode, selectLayer } from '../../state/selection';
import { step, stepColumns } from '../../state/steps';
import { LegendBox } from '../graph/LegendBox';
import { RunGraph, WorkerNotice } from '../graph/RunGraph';
import { ToolButton } from '../graph/ToolButton';
import { Failure } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { type Direction, LayersCanvas } from './layers_canvas';
import { opsOf } from './ops_of';

/** With fewer cards, the ops are more useful. */
const FEWEST = 3;

/** The model as written: one card per layer. */
export function LayersView() {
  const failed = graph.error.value ?? run.error.value;
  if (graph.data.value === null && failed) return <Failure error={failed} retry={graph.error.value ? graph.reload : run.reload} />;
  if (run.data.value !== null && run.data.value.graphs.length === 0 && !detailOutdated.value) return <NothingCaptured />;
  if (graphLayers.error.value) return <Failure error={graphLayers.error.value} retry={graphLayers.reload} />;
  const found = graphLayers.data.value;
  if (found !== null && found.layers.cards.length < FEWEST)
    return (
      <>
        <div class="reading" role="status" data-testid="no-layers">
          <span>This graph has no layers; showing ops.</span>
        </div>
        <WorkerNotice />
        <RunGraph />
      </>
    );
  return (
    <>
      <WorkerNotice />
      <div class="pane-body">
        <LayersPane />
      </div>
    </>
  );
}

/** The current canvas, for export. */
export const layersOnShow = signal<LayersCanvas | null>(null);

const hover = signal<{ card: PlacedCard; x: number; y: number } | null>(null);

function LayersPane() {
  const surface = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<LayersCanvas | null>(null);
  const [level, data] = [layerLevel.value, useData()];
  const bare = stepColumns.value.step.length === 0;
  const selected = chosenLayer.value ?? keyOfNode(selectedNode.value);
  useLayoutEffect(() => {
    const made = new LayersCanvas(surface.current!, canvas.current!, {
      select: selectLayer,
      enter,
      toggle,
      hover: (card, x, y) => {
        hover.value = card && { card, x, y };
      },
    });
    drawing.current = made;
    layersOnShow.value = made;
    const unregister = registerGraphProbe({
      node: (key) => made.boxOf(key),
      nodes: () => made.picture.cards.map(({ item }) => item.key),
      nodeState: (key) => stateOf(key, made),
      ready: () =>
        !made.busy &&
        graphLayers.data.value !== null &&
        !graphLayers.loading.value &&
        !cardHistograms.loading.value &&
        !cardTrends.loading.value,
    });
    return () => {
      unregister();
      layersOnShow.value = null;
      hover.value = null;
      made.close();
    };
  }, []);
  useLayoutEffect(() => drawing.current?.forget(), [graphId.value]);
  useLayoutEffect(() => drawing.current?.setLevel(level, bare), [level, bare]);
  useLayoutEffect(() => drawing.current?.setData(data.drawn, theme.value, selected), [data, selected, theme.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (drawing.current && onKey(event, drawing.current)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  // As in the graph, these keys work without the focus; arrows belong to the steps then.
  useLayoutEffect(() => {
    const onPage = (event: KeyboardEvent) => event.target === document.body && /^[f+-]$/.test(event.key) && onKeyDown(event);
    document.addEventListener('keydown', onPage);
    return () => document.removeEventListener('keydown', onPage);
  }, []);
  return (
    <div class="graph-pane" data-theme={theme.value} data-status={level ? 'ready' : 'loading'} data-testid="layers">
      <Toolbar canvas={drawing} />
      <div
        ref={surface}
        class="graph-surface"
        data-testid="graph"
        tabIndex={0}
        role="application"
        aria-roledescription="layers"
        aria-label={label()}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} class="graph-canvas" aria-hidden="true" />
      </div>
      <LegendBox legend={data.legend} lines={null} />
      <ModelFacts />
      {hover.value && <Tooltip {...hover.value} />}
      {level === null && (
        <div class="graph-status" role="status">
          <p>Finding the layers…</p>
        </div>
      )}
      <div class="graph-offscreen" aria-live="polite">
        {selected !== null && announcement(selected)}
      </div>
    </div>
  );
}

/** The card that holds a node, or of whose weights it is the gradient or update. */
function keyOfNode(node: string | null): string | null {
  const found = graphLayers.data.value;
  if (!found || node === null) return null;
  const { cards, cardOf } = found.layers;
  const row = rowOf(found.graph, node);
  const isOf = ({ gradients, updates }: CardWeight): boolean => gradients.includes(row) || updates.includes(row);
  const card = (cardOf[row] ?? -1) < 0 ? cards.findIndex(({ weights }) => weights.some(isOf)) : cardOf[row]!;
  return shownItems.value.find(({ variants }) => variants.some((ids) => ids.includes(card)))?.key ?? null;
}

function label(): string {
  const cards = shownItems.value.length;
  return `Layers of ${graph.data.value?.name ?? 'the graph'}, ${counted(cards, 'card')}. Use arrow keys to move between cards, and Enter to expand a block or show the ops of a layer.`;
}

/** Data drawn in the cards, and the legend. */
function useData() {
  const [level, items, shade, names] = [layerLevel.value, shownItems.value, cardColour.value, theme.value];
  const [statistics, histograms, trends, found] = [
    overlay.data.value,
    cardHistograms.data.value,
    cardTrends.data.value,
    graphLayers.data.value,
  ];
  const shown = statistics?.step ?? step.value ?? 0;
  return useMemo(() => {
    const known = new Map<string, CardStatistics | null>();
    const of = (item: Item): CardStatistics | null => {
      if (!known.has(item.key)) known.set(item.key, itemStatistics(item));
      return known.get(item.key)!;
    };
    const measured = items.flatMap((item) => item.variants.map((cards) => ({ item, statistics: statisticsOf(cards) })));
    const colouring = cardColouring(themeOf(names), shade, measured);
    const cells = new Map<string, readonly (CardStatistics | null)[]>();
    const lines = new Map<string, ReturnType<CardData['trend']>>();
    const drawn: CardData = {
      style: colouring.styleOf,
      statistics: of,
      cells: (item) => {
        if (!cells.has(item.key)) cells.set(item.key, item.variants.map(statisticsOf));
        return cells.get(item.key)!;
      },
      histogram: (item) => {
        const { row, slot } = outputOf(item);
        return histograms?.get(`${row}:${slot}`);
      },
      trend: (item) => {
        if (!lines.has(item.key)) {
          const { place, statistic } = trendTensor(item);
          const trend = trends?.get(`${statistic} ${place.row}`);
          lines.set(item.key, trend && { trend, label: statistic === 'l2' ? '|gradient|' : statistic });
        }
        return lines.get(item.key);
      },
      step: shown,
    };
    return { drawn, legend: colouring.legend };
  }, [level, items, shade, names, shown, statistics, histograms, trends, found]);
}

function stateOf(key: string, drawing: LayersCanvas) {
  const item = itemOf(key);
  if (!item || drawing.boxOf(key) === null) return null;
  const statistics = itemStatistics(item);
  return { selected: chosenLayer.value === key, nonfinite: (statistics?.nan ?? 0) + (statistics?.inf ?? 0) > 0, color: '' };
}

/** A block expands or collapses; a layer shows its ops. */
function enter(key: string): void {
  const item = itemOf(key);
  if (!item) return;
  if (item.kind === 'block') toggle(key);
  else opsOf(item);
}

function toggle(key: string): void {
  const item = itemOf(key);
  if (item?.toggle) toggleItem(item.toggle, item.inside !== null);
}

const ARROWS: Readonly<Record<string, Direction>> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };

function onKey(event: KeyboardEvent, drawing: LayersCanvas): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key !== '+')) return false;
  const direction = ARROWS[event.key];
  const selected = chosenLayer.value;
  if (direction) {
    const next = drawing.next(direction);
    if (next !== null) selectLayer(next);
    return true;
  }
  if (event.key === 'f') drawing.fit();
  else if (event.key === '+') drawing.viewport.zoomSmoothly(1.35, null);
  else if (event.key === '-') drawing.viewport.zoomSmoothly(1 / 1.35, null);
  else if (event.key === 'Enter' && selected !== null) enter(selected);
  else if (event.key === 'Escape' && selected !== null) selectLayer(null);
  else return false;
  return true;
}

function Toolbar({ canvas }: { canvas: { current: LayersCanvas | null } }) {
  const zoom = (factor: number) => () => canvas.current?.viewport.zoomSmoothly(factor, null);
  return (
    <div class="graph-toolbar graph-card" role="toolbar" aria-label="Layers">
      <ToolButton icon="minus" label="Zoom out (-)" onClick={zoom(1 / 1.4)} />
      <ToolButton icon="plus" label="Zoom in (+)" onClick={zoom(1.4)} />
      <ToolButton icon="fit" label="Fit the layers into view (f)" onClick={() => canvas.current?.fit()} />
    </div>
  );
}

/** Facts of the model, in the upper left corner. */
function ModelFacts() {
  const found = graphLayers.data.value;
  if (!found) return null;
  const { cards, recorded } = found.layers;
  const layers = cards.filter(({ kind }) => kind === 'layer');
  // The weights of a layer that is called twice count once.
  const own = new Map(layers.map(({ path, parameters: count }) => [path, count]));
  const parameters = [...own.values()].reduce((sum, count) => sum + count, 0);
  const roots = new Set(layers.map(({ path }) => path.split('/')[0]!));
  const name = roots.size === 1 && layers.length > 1 ? [...roots][0]! : found.graph.name;
  return (
    <section class="graph-card layers-facts" aria-label="Model">
      <h2 class="truncate" title={name}>
        {visible(name)}
      </h2>
      <p>
        {shortCount(parameters)} parameters, {counted(own.size, recorded ? 'layer' : 'scope')}
      </p>
      <p>{counted(found.graph.nodeCount, 'op')}</p>
      {!recorded && <p class="faint">No Keras layers recorded; grouped by name scope.</p>}
    </section>
  );
}

function announcement(key: string): string {
  const item = itemOf(key);
  if (!item) return '';
  const statistics = itemStatistics(item);
  return [item.title, item.className, shapeText(item, statistics), measuresText(statistics)].filter(Boolean).join(', ');
}

/** Tooltip at the pointer. */
function Tooltip({ card, x, y }: { card: PlacedCard; x: number; y: number }) {
  const { item } = card;
  const statistics = itemStatistics(item) ?? NOT_CAPTURED;
  const rows: (readonly [string, string])[] = [
    ['class', item.className],
    ['output', shapeText(item, statistics)],
    ['parameters', item.parameters > 0 ? shortCount(item.parameters) : ''],
    ['repeated', item.variants.length > 1 ? `${item.variants.length} times` : ''],
    ['gradient norm', measureText(statistics.gradientNorm)],
    ['update / weight', measureText(statistics.updateRatio)],
    ['mean ± std', meanText(statistics)],
    ['zeros', zerosText(statistics)],
    ['NaN', statistics.nan ? formatCount(statistics.nan) : ''],
    ['Inf', statistics.inf ? formatCount(statistics.inf) : ''],
  ];
  return (
    <div class="graph-tooltip" role="tooltip" style={{ left: `${x + 16}px`, top: `${y + 14}px` }}>
      <div class="graph-tooltip-title">{visible(item.title)}</div>
      {item.path !== '' && item.path !== item.title && <div class="graph-tooltip-name">{visible(item.path)}</div>}
      <dl class="graph-facts">
        {rows.map(([name, value]) =>
          value === '' ? null : (
            <div key={name} class={name === 'NaN' ? 'graph-bad-nan' : name === 'Inf' ? 'graph-bad-inf' : ''}>
              <dt>{name}</dt>
              <dd>{visible(value)}</dd>
            </div>
          ),
        )}
      </dl>
    </div>
  );
}
