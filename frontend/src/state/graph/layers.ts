import { computed, signal } from '@preact/signals';
import { computeLayers } from '../../layout/client';
import { Lru } from '../../lib/lru';
import { LatestRequest } from '../../lib/scheduling';
import { type CardStatistics, cardStatistics, joinStatistics, TensorRows } from '../../model/layers/card_statistics';
import type { LayerCard, LayerGraph, TensorPlace } from '../../model/layers/cards';
import { type ChosenFolds, foldedLevel, framesAround, type Item, type Level, NO_FOLDS, toggleFold } from '../../model/layers/folding';
import type { GraphData } from '../../model/wire/graph';
import { finitePoints, type NodeTrend } from '../../model/wire/node_trends';
import type { StepHistograms } from '../../model/wire/step_histograms';
import { chosenLayer, view } from '../page/choices';
import { api } from '../provider';
import { prefetchAround, resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { serverSteps, stepColumns, stepIndex } from '../steps';
import { graph, overlay, stepsAhead } from './graph';

/** The layers of the current graph, its parts of a step, and the data of the cards at the current step. */
interface GraphLayers {
  readonly graph: GraphData;
  readonly layers: LayerGraph;
  /** The part of a step of each row, see `ROLES`. */
  readonly roles: Uint8Array;
}

const known = new Lru<string, GraphLayers>(4);

export const graphLayers = resource(
  computed(() => {
    const data = graph.data.value;
    if (data === null || runId.value === null) return null;
    const subject = `${runId.value} ${data.id} ${data.nodeCount} ${data.edges.source.length}`;
    return { key: subject, subject, graph: data };
  }),
  async ({ graph: data }): Promise<GraphLayers> => {
    const { layers, roles } = await computeLayers(data);
    return { graph: data, layers, roles };
  },
  { cache: known },
);

/** Items expanded or collapsed by the user, per graph. */
const foldsOfGraphs = signal<ReadonlyMap<string, ChosenFolds>>(new Map());

export const folds = computed<ChosenFolds>(() => foldsOfGraphs.value.get(graphId.value ?? '') ?? NO_FOLDS);

export function toggleItem(key: string, isOpen: boolean): void {
  setFolds(toggleFold(folds.value, key, isOpen));
}

export function setFolds(next: ChosenFolds): void {
  foldsOfGraphs.value = new Map(foldsOfGraphs.value).set(graphId.value ?? '', next);
}

/** Expands the frames around a layer that an address names; those of its repetitions stay grouped. */
export function showLayer(key: string): void {
  const found = graphLayers.data.value;
  if (found === null || itemOf(key) !== null) return;
  const frames = framesAround(found.layers, key);
  if (frames !== null) setFolds({ ...folds.value, open: new Set([...folds.value.open, ...frames]) });
}

/** Visible cards: a collapsed block is one, a repeat is one. */
export const layerLevel = computed<Level | null>(() => {
  const found = graphLayers.data.value;
  return found && foldedLevel(found.layers, folds.value);
});

/** All visible cards, including those in expanded frames. */
export const shownItems = computed<readonly Item[]>(() => {
  const found: Item[] = [];
  const visit = (level: Level): void => {
    for (const item of level.items) {
      if (item.inside) visit(item.inside);
      else found.push(item);
    }
  };
  if (layerLevel.value) visit(layerLevel.value);
  return found;
});

/** The item with a key, also if it is a frame. */
export function itemOf(key: string | null, level: Level | null = layerLevel.value): Item | null {
  for (const item of key === null ? [] : (level?.items ?? [])) {
    if (item.key === key) return item;
    const inside = item.inside && itemOf(key, item.inside);
    if (inside) return inside;
  }
  return null;
}

const ofCards = computed<readonly CardStatistics[]>(() => {
  const found = graphLayers.data.value;
  if (!found) return [];
  // Rows of another graph would mean other nodes.
  return cardStatistics(found.layers, graph.data.value === found.graph ? overlay.data.value : null);
});

/** What was joined at this step: a block of a large model has thousands of cards. */
const joined = computed(() => ({ parts: ofCards.value, known: new WeakMap<readonly number[], CardStatistics | null>() }));

/** The statistics of one repetition of an item. */
export function statisticsOf(cards: readonly number[]): CardStatistics | null {
  const { parts: all, known: found } = joined.value;
  if (!found.has(cards)) {
    const parts = cards.map((card) => all[card]!).filter(Boolean);
    found.set(cards, parts.length === 0 ? null : joinStatistics(parts, parts[parts.length - 1]));
  }
  return found.get(cards)!;
}

/** Of all repetitions together: NaN in any counts. */
export function itemStatistics(item: Item): CardStatistics | null {
  const variants = item.variants.map(statisticsOf).filter((part) => part !== null);
  if (variants.length === 0) return null;
  const { mean, std, absMax } = variants[0]!;
  return { ...joinStatistics(variants, variants[variants.length - 1]), mean, std, absMax };
}

/** Histograms and trends are requested for this many tensors at a time. */
const MOST_TENSORS = 256;

const keyOfPlace = ({ row, slot }: TensorPlace): string => `${row}:${slot}`;

const histogramCache = new Lru<string, StepHistograms>(96);

function histogramRequest(offset: number) {
  const index = stepIndex.value + offset;
  const at = stepColumns.value.step[index];
  const tensors = [...new Set(shownItems.value.map((item) => keyOfPlace(outputOf(item))))].slice(0, MOST_TENSORS);
  const [run, id, data] = [runId.value, graphId.value, graph.data.value];
  if (view.value !== 'layers' || at === undefined || run === null || id === null || tensors.length === 0) return null;
  if (data !== graphLayers.data.value?.graph) return null;
  const query = { tensors: tensors.join(), worker: workerId.value };
  const subject = `${run} ${id} ${workerId.value}`;
  return { key: `${subject} ${at} ${stepColumns.value.snapshots[index]} ${query.tensors}`, subject, run, graph: id, step: at, query };
}

type HistogramRequest = NonNullable<ReturnType<typeof histogramRequest>>;

const loadHistograms = ({ run, graph: id, step: at, query }: HistogramRequest, abort: AbortSignal) =>
  api().stepHistograms(run, id, at, query, abort);

const neighbours = new LatestRequest();

/** Histograms of the cards' outputs at the current step. */
export const cardHistograms = resource(
  computed(() => histogramRequest(0)),
  async (request, abort) => {
    const found = await loadHistograms(request, abort);
    prefetchHistograms();
    return found;
  },
  { cache: histogramCache },
);

/** Those of the neighbouring steps, prefetched. */
function prefetchHistograms(): void {
  const shown = overlay.data.peek();
  void prefetchAround(shown ? stepsAhead(shown) : 1, histogramRequest, histogramCache, loadHistograms, neighbours.start());
}

/** The output tensor of an item; of a loss without a snapshot at this step, a captured tensor from which it is computed. */
export function outputOf(item: Item): TensorPlace {
  if (item.kind !== 'loss') return item.output;
  const terms = item.cards.flatMap((card) => graphLayers.data.value?.layers.cards[card]?.terms ?? []);
  return [item.output, ...terms].find(isCaptured) ?? item.output;
}

/** Where the tensors of the current step are in its columns. */
const tensorRows = computed(() => overlay.data.value && new TensorRows(overlay.data.value, graph.data.value?.nodeCount ?? 0));

export const isCaptured = (place: TensorPlace): boolean => (tensorRows.value?.of(place) ?? -1) >= 0;

/** Key of the visible item that contains a layer; null if there is none. */
export function cardKeyOfLayer(path: string): string | null {
  const cards = graphLayers.data.value?.layers.cards ?? [];
  const holds = ({ variants }: Item): boolean => variants.some((own) => own.some((card) => cards[card]?.path === path));
  return shownItems.value.find(holds)?.key ?? null;
}

type Trend = { place: TensorPlace; statistic: 'l2' | 'std' | 'mean' };

const trendsOfItems = new WeakMap<Item, Trend>();

/** The gradient whose norm a card draws: that of its largest weight; else its output. */
export function trendTensor(item: Item): Trend {
  if (item.kind === 'loss') return { place: outputOf(item), statistic: 'mean' };
  const known = trendsOfItems.get(item) ?? findTrend(item);
  trendsOfItems.set(item, known);
  return known;
}

function findTrend(item: Item): Trend {
  const found = graphLayers.data.value;
  const size = (row: number): number => (found ? elementsOf(found.graph.shapes.at(row)) : 0);
  const weights = cardsOf(item).flatMap((card) => card.weights.filter(({ gradients }) => gradients.length > 0));
  const largest = weights.sort((a, b) => size(b.row) - size(a.row))[0];
  return largest ? { place: { row: largest.gradients[0]!, slot: 0 }, statistic: 'l2' } : { place: item.output, statistic: 'std' };
}

const elementsOf = (shape: string): number => shape.split('×').reduce((size, extent) => size * (Number(extent) || 1), 1);

const PLACES = 48;

/** Trends of gradients and outputs of the cards, by `statistic row`. */
export const cardTrends = resource(
  computed(() => {
    const [run, id, found] = [runId.value, graphId.value, graphLayers.data.value];
    if (view.value !== 'layers' || run === null || id === null || found === null || found.graph !== graph.data.value) return null;
    if (stepColumns.value.step.length < 2) return null;
    const wanted = new Map<string, Set<number>>();
    for (const item of shownItems.value.slice(0, MOST_TENSORS)) {
      const { place, statistic } = trendTensor(item);
      wanted.set(statistic, (wanted.get(statistic) ?? new Set()).add(place.row));
    }
    const lists = [...wanted].map(([statistic, rows]) => ({ statistic, nodes: [...rows].join() }));
    const subject = `${run} ${id} ${workerId.value}`;
    const key = `${subject} ${runRevision.value} ${serverSteps.value} ${JSON.stringify(lists)}`;
    return { key, subject, run, graph: id, lists, query: { places: PLACES, worker: workerId.value, steps: serverSteps.value } };
  }),
  async ({ run, graph: id, lists, query }, abort): Promise<ReadonlyMap<string, NodeTrend>> => {
    const found = new Map<string, NodeTrend>();
    for (const { statistic, nodes } of lists) {
      const trends = await api().nodeTrends(run, id, { ...query, statistic, nodes }, abort);
      for (const [row, trend] of trends) found.set(`${statistic} ${row}`, finitePoints(trend));
    }
    return found;
  },
);

/** The selected item, on any level. */
export const selectedItem = computed<Item | null>(() => itemOf(chosenLayer.value));

/** Cards of the first repetition. */
export function cardsOf(item: Item): LayerCard[] {
  const cards = graphLayers.data.value?.layers.cards ?? [];
  return item.cards.map((card) => cards[card]).filter((card) => card !== undefined);
}

/** The visible inputs of an item. */
export function inputsOf(item: Item): Item[] {
  const inside = new Set(item.cards);
  const from = new Set(cardsOf(item).flatMap((card) => [...card.inputs.keys()].filter((input) => !inside.has(input))));
  return shownItems.value.filter((other) => other.variants.some((cards) => cards.some((card) => from.has(card))));
}

/** The visible consumers of an item: of a repeated one those of its last repetition. */
export function outputsOf(item: Item): Item[] {
  const all = new Set(item.variants.flat());
  const cards = graphLayers.data.value?.layers.cards ?? [];
  const reads = (card: number): boolean => [...(cards[card]?.inputs.keys() ?? [])].some((input) => all.has(input));
  return shownItems.value.filter(
    (other) => other.key !== item.key && other.variants.some((own) => own.some((card) => !all.has(card) && reads(card))),
  );
}

/** The L2 norm of a tensor at the current step, as `CardStatistics` has it. */
export function tensorNorm(place: TensorPlace): number {
  const rows = tensorRows.value;
  return rows === null ? Number.NaN : rows.statistic(rows.of(place), 'l2');
}

/** Trends of the norms of the selected layer's output and of its weights' gradients, by row. */
export const normTrends = resource(
  computed(() => {
    const [run, id, item] = [runId.value, graphId.value, selectedItem.value];
    if (run === null || id === null || item === null || stepColumns.value.step.length < 2) return null;
    const rows = new Set(cardsOf(item).flatMap((card) => card.weights.flatMap(({ gradients }) => gradients.slice(0, 1))));
    rows.add(outputOf(item).row);
    if (rows.size === 0) return null;
    const query = {
      nodes: [...rows].slice(0, MOST_TENSORS).join(),
      statistic: 'l2',
      places: PLACES,
      worker: workerId.value,
      steps: serverSteps.value,
    };
    const subject = `${run} ${id} ${item.key}`;
    return { key: `${subject} ${runRevision.value} ${JSON.stringify(query)}`, subject, run, graph: id, query };
  }),
  async ({ run, graph: id, query }, abort): Promise<ReadonlyMap<number, NodeTrend>> => {
    const found = await api().nodeTrends(run, id, query, abort);
    return new Map([...found].map(([row, trend]) => [row, finitePoints(trend)]));
  },
);
