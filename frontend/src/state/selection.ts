/** The selected node, scope or tensor, their common changes, and traces from them. */

import { batch, computed, signal } from '@preact/signals';
import { isBetween, type TraceKind } from '../model/graph/trace';
import type { PanelTab } from '../model/run/deep_link';
import { parseTensorName, tensorName } from '../model/wire/names';
import {
  chosenGraph,
  chosenLayer,
  chosenScope,
  chosenTensor,
  chosenVisit,
  chosenWorker,
  openScopes,
  panelTab,
  resetTimeline,
  sourcePlace,
  trace,
  ungrouped,
  view,
} from './page/choices';
import { panelOpen } from './page/preferences';
import { graphId, graphOfWorker, runDetail } from './runs';
import { goToStep } from './steps';

/** The selected node and output slot, which change together. */
export const selected = computed(() => (chosenTensor.value === null ? null : parseTensorName(chosenTensor.value)));
export const selectedNode = computed(() => selected.value?.node ?? null);

export function selectNode(node: string | null): void {
  if (node === selectedNode.value && chosenScope.value === null) return;
  selectTensor(node === null ? null : tensorName(node, 0));
}

/** Selects a scope of the graph by path, and deselects the node. */
export function selectScope(path: string): void {
  batch(() => {
    selectTensor(null);
    chosenScope.value = path;
  });
}

/** Selects a card of the layer view by its key; null clears the selection. */
export function selectLayer(key: string | null): void {
  batch(() => {
    selectTensor(null);
    chosenLayer.value = key;
    if (key !== null) panelOpen.value = true;
  });
}

export function selectTensor(tensor: string | null): void {
  batch(() => {
    chosenTensor.value = tensor;
    chosenScope.value = null;
    chosenLayer.value = null;
    chosenVisit.value = null;
    // The source view follows the selection, unless a line of the node was chosen.
    if (view.value !== 'source') sourcePlace.value = '';
    if (tensor !== null) panelOpen.value = true;
  });
}

/** Another graph has other scopes and iterations. */
export function chooseGraph(graph: string | null): void {
  batch(() => {
    if (graph !== graphId.value) {
      openScopes.value = null;
      ungrouped.value = [];
      chosenLayer.value = null;
      clearTrace();
      resetTimeline();
      chosenVisit.value = null;
    }
    chosenGraph.value = graph;
  });
}

/** Another worker has other iterations; the current graph stays if the worker captured any of it, else the worker's graph is shown. */
export function chooseWorker(worker: string | null): void {
  batch(() => {
    const captured = runDetail.value?.graphs.find((graph) => graph.id === graphId.value)?.workers ?? [];
    const own = worker === null || captured.includes(worker) ? null : graphOfWorker(worker);
    if (own !== null) chooseGraph(own.id);
    if (worker !== chosenWorker.value) chosenVisit.value = null;
    chosenWorker.value = worker;
  });
}

/** Goes to a tensor at a step and iteration, from a list of problems or a table. */
export function goTo(place: { graph?: string; tensor: string; step?: number; visit?: number; tab?: PanelTab }): void {
  batch(() => {
    if (place.graph !== undefined) chooseGraph(place.graph);
    if (place.step !== undefined) goToStep(place.step);
    if (place.tab !== undefined) panelTab.value = place.tab;
    selectTensor(place.tensor);
    chosenVisit.value = place.visit ?? null;
  });
}

/** Start of a path whose end is not chosen yet. It is not in the address, because only the next click uses it. */
export const pathStart = signal<string | null>(null);

/** Shows a trace of a node or scope. A path takes two calls: the first sets its start, the second its end. */
export function startTrace(kind: TraceKind, name: string): void {
  if (!isBetween(kind)) {
    pathStart.value = null;
    trace.value = { kind, from: name, to: '' };
  } else if (pathStart.value === null || pathStart.value === name) pathStart.value = pathStart.value === null ? name : null;
  else {
    trace.value = { kind, from: pathStart.value, to: name };
    pathStart.value = null;
  }
}

export function clearTrace(): void {
  trace.value = null;
  pathStart.value = null;
}

/** Goes to the subject of a proposed name: a graph of the current run, a tensor (`node:slot`), else a node. */
export function goToProposed(name: string): void {
  if (runDetail.value?.graphs.some((graph) => graph.id === name)) chooseGraph(name);
  else if (/:\d+$/.test(name)) selectTensor(name);
  else selectNode(name);
}
