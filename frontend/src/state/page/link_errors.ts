import { computed, effect, signal, untracked } from '@preact/signals';
import { framesAround } from '../../model/layers/folding';
import { VIEW_TITLES } from '../../model/run/deep_link';
import {
  type LinkRequest,
  missingDims,
  missingInGraph,
  missingInRun,
  missingScopes,
  missingVisit,
  unreadText,
} from '../../model/run/link_errors';
import { rowOf } from '../../model/wire/graph';
import { parseTensorName } from '../../model/wire/names';
import { graph } from '../graph/graph';
import { graphLayers, showLayer } from '../graph/layers';
import { snapshot, visits } from '../graph/node';
import { drawnGraph } from '../graph/parts';
import { graphId, runDetail } from '../runs';
import { allSteps, step } from '../steps';
import { keptRow, valueLink } from '../tensors/value';
import {
  chosenGraph,
  chosenLayer,
  chosenRun,
  chosenScope,
  chosenStep,
  chosenTensor,
  chosenVisit,
  chosenWorker,
  colour,
  stepRange,
  view,
} from './choices';

/** The parts requested by the address; null once the message was dismissed. */
export const linkRequest = signal<LinkRequest | null>(null);

/** The layer, while its cards are those of the current graph. */
const wantedLayer = computed<string | null>(() => {
  const [wanted, found] = [linkRequest.value, graphLayers.data.value];
  if (wanted === null || found === null || found.graph !== graph.data.value || found.graph.id !== graphId.value) return null;
  return wanted.layer === chosenLayer.value ? wanted.layer : null;
});

effect(() => {
  const layer = wantedLayer.value;
  if (layer !== null) untracked(() => showLayer(layer));
});

/** The scopes that the current graph does not have, of those that the address named for it. */
const lostScopes = computed<readonly string[]>(() => {
  const [wanted, shown] = [linkRequest.value, graph.data.value];
  if (wanted === null || shown === null || wanted.graph !== chosenGraph.value) return [];
  const selected = wanted.selected !== null && wanted.selected === chosenScope.value ? [wanted.selected] : [];
  const lost = missingScopes(shown, [...new Set([...selected, ...wanted.scopes])]);
  // The parts of a step, which take long to draw, have scopes of their own.
  const drawn = lost.length > 0 ? drawnGraph.value : null;
  return drawn === null ? [] : missingScopes(drawn, lost);
});

/** Those that the current graph does not have. */
const lostHere = computed<string | null>(() => {
  const [wanted, shown, found] = [linkRequest.value, graph.data.value, graphLayers.data.value];
  if (wanted === null || shown === null || shown.id !== graphId.value) return null;
  const color = wanted.color === colour.value ? wanted.color : null;
  const hasLayer = (key: string): boolean => found === null || framesAround(found.layers, key) !== null;
  const asked = wanted.tensor === null || wanted.tensor !== chosenTensor.value ? null : parseTensorName(wanted.tensor).node;
  const node = asked !== null && rowOf(shown, asked) < 0 ? asked : null;
  return missingInGraph({ node, scopes: lostScopes.value, color, layer: wantedLayer.value }, hasLayer);
});

/** The iteration, if the current tensor does not have it. */
const visitLost = computed<string | null>(() => {
  const [wanted, shown] = [linkRequest.value, snapshot.value];
  if (wanted === null || shown === null || wanted.tensor !== chosenTensor.value || wanted.visit !== chosenVisit.value) return null;
  return missingVisit(wanted, shown.step, visits.value, shown.visit);
});

/** The layout of dimensions, if it does not fit the current tensor. */
const dimsLost = computed<string | null>(() => {
  const [wanted, row] = [linkRequest.value, keptRow.value];
  if (wanted === null || row === null || wanted.tensor !== row.tensor || wanted.dims !== valueLink.value.dims) return null;
  return missingDims(wanted, row.shape);
});

/** Requested parts that do not exist, while their replacements are shown. */
export const linkError = computed<string | null>(() => {
  const [wanted, run] = [linkRequest.value, runDetail.value];
  if (wanted === null) return null;
  const unread = unreadText(wanted.unread, VIEW_TITLES[view.value]);
  if (run === null || wanted.run !== chosenRun.value) return unread;
  const still = {
    graph: wanted.graph === chosenGraph.value ? wanted.graph : null,
    // The comparison itself reports this.
    worker: view.value !== 'compare' && wanted.worker === chosenWorker.value ? wanted.worker : null,
    step: wanted.step === chosenStep.value ? wanted.step : null,
    range: wanted.range === stepRange.value ? wanted.range : null,
  };
  const texts = [
    unread,
    missingInRun(still, run.graphs, run.workers, allSteps.value.step, step.value),
    visitLost.value,
    dimsLost.value,
    lostHere.value,
  ];
  return texts.filter((text) => text !== null).join(' ') || null;
});
