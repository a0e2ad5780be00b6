import { batch, computed, effect } from '@preact/signals';
import { rememberForHost, stateFromHost } from '../../lib/host_page';
import { sameTrace } from '../../model/graph/trace';
import { type DeepLink, decodeLink, encodeLink, isNewPlace, namesView, type Place, unreadParts } from '../../model/run/deep_link';
import { parseSort, sortText } from '../../model/run/tensor_table';
import { type ChartChoices, NO_CHART_CHOICES } from '../../model/run/view_settings';
import { parseCompareSort } from '../../model/wire/comparison';
import { isRapidInput } from '../resource';
import { graphId, runId } from '../runs';
import { following, step } from '../steps';
import { comparing } from '../tensors/pins';
import { applyValueLink, valueLink } from '../tensors/value';
import * as choices from './choices';
import { chosenTensor, panelTab, pins } from './choices';
import { linkRequest } from './link_errors';
import {
  comparedStatistic,
  histogramMode,
  histogramScale,
  historyBand,
  historyLog,
  historyView,
  modelPicture,
  panelOpen,
} from './preferences';

/**
 * Keeps the address and the choices in step. The hash names the current view, defaults too, so that it shows the same to whoever it is
 * sent to; back and forward are read from it.
 */
const link = computed<DeepLink>(() => ({
  run: runId.value,
  graph: graphId.value ?? choices.chosenGraph.value,
  worker: choices.chosenWorker.value,
  step: step.value ?? choices.chosenStep.value,
  follow: following.value && step.value !== null,
  tensor: choices.chosenTensor.value,
  visit: choices.chosenVisit.value,
  selected: choices.chosenScope.value,
  layer: choices.chosenLayer.value,
  part: choices.chosenPart.value,
  shade: choices.cardColour.value,
  enlarged: choices.enlarged.value && choices.chosenTensor.value !== null,
  view: choices.view.value,
  scope: choices.timelineScope.value,
  unfolded: choices.unfolded.value,
  folded: choices.folded.value,
  match: choices.tableFilter.value.match,
  where: choices.tableFilter.value.where,
  sort: sortText(choices.tableSort.value),
  place: choices.sourcePlace.value,
  panel: choices.panelTab.value,
  ...valueLink.value,
  ...chartLink.value,
  color: choices.colour.value,
  open: choices.openScopes.value,
  unstacked: choices.ungrouped.value,
  trace: choices.trace.value,
  other: choices.otherRun.value,
  otherStep: choices.otherStep.value,
  otherWorker: choices.otherWorker.value,
  at: choices.compareAt.value,
  rank: choices.compareSort.value,
  range: choices.stepRange.value,
  pins: choices.pins.value,
  saw: choices.sampleSearch.value,
  of: choices.sampleKind.value,
  rows: choices.tableRows.value,
  list: choices.tableDisplay.value,
}));

function apply(next: DeepLink): void {
  batch(() => {
    choices.chosenRun.value = next.run;
    choices.chosenGraph.value = next.graph;
    choices.chosenWorker.value = next.worker;
    choices.chosenStep.value = next.follow ? null : next.step;
    choices.chosenTensor.value = next.tensor;
    choices.chosenVisit.value = next.visit;
    choices.chosenScope.value = next.tensor === null ? next.selected : null;
    choices.chosenLayer.value = next.tensor === null && next.selected === null ? next.layer : null;
    choices.chosenPart.value = next.part;
    choices.cardColour.value = next.shade;
    choices.enlarged.value = next.enlarged;
    if (next.enlarged) panelOpen.value = true;
    choices.view.value = next.view;
    choices.timelineScope.value = next.scope;
    choices.unfolded.value = next.unfolded;
    choices.folded.value = next.folded;
    choices.tableFilter.value = { ...choices.tableFilter.value, match: next.match, where: next.where };
    choices.tableSort.value = parseSort(next.sort);
    choices.sourcePlace.value = next.place;
    choices.panelTab.value = next.panel;
    applyChartLink(next);
    applyValueLink(next.tensor, next.value, next.dims);
    choices.colour.value = next.color;
    choices.openScopes.value = next.open;
    if (next.unstacked.join() !== choices.ungrouped.value.join()) choices.ungrouped.value = next.unstacked;
    if (!sameTrace(next.trace, choices.trace.value)) choices.trace.value = next.trace;
    choices.otherRun.value = next.other;
    choices.otherStep.value = next.otherStep;
    choices.otherWorker.value = next.otherWorker;
    choices.compareAt.value = next.at;
    choices.stepRange.value = next.range;
    choices.pins.value = next.pins;
    choices.sampleSearch.value = next.saw;
    choices.sampleKind.value = next.of;
    choices.tableRows.value = next.rows;
    choices.tableDisplay.value = next.list;
    choices.compareSort.value = parseCompareSort(next.rank);
  });
}

/**
 * What was chosen, before the page completes or corrects it (a run by its id, a graph that is there): two places are distinguished by
 * this, so that "back" to an address which the page completes does not lead forward again.
 */
const chosen = computed<Place>(() => ({
  run: choices.chosenRun.value,
  graph: choices.chosenGraph.value,
  tensor: choices.chosenTensor.value,
  selected: choices.chosenScope.value,
  layer: choices.chosenLayer.value,
  view: choices.view.value,
  scope: choices.timelineScope.value,
  unstacked: choices.ungrouped.value,
  trace: choices.trace.value,
}));

/** What an address asks for; where it names no view, the picture of the model that the reader chose last. */
function readLink(hash: string): DeepLink {
  const link = decodeLink(hash);
  if (!namesView(hash)) return { ...link, view: modelPicture.peek() };
  // Scopes and nodes of any part are found in the whole graph.
  const placed = link.open !== null || link.selected !== null || link.tensor !== null || link.trace !== null;
  return placed && link.part === null ? { ...link, part: 'all' } : link;
}

/** Takes up an address, and what it asks for. */
function take(next: DeepLink, unread: readonly string[]): void {
  const { run, graph, worker, tensor, visit, range, selected, color } = next;
  linkRequest.value = { run, graph, worker, tensor, visit, range, selected, color, step: next.follow ? null : next.step, unread };
  apply(next);
}

function write(next: DeepLink, push: boolean): void {
  // From location, not relative: in TensorBoard's iframe a base element would send a bare "#…" elsewhere.
  const address = location.href.replace(/#.*$/, '') + encodeLink(next);
  if (address === location.href) return;
  if (push) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

/** Makes an entry of the history of the current view, which is about to change as a whole. */
export function keepPlace(): void {
  history.pushState(null, '', location.href);
}

export function syncAddress(): () => void {
  const first = location.hash || stateFromHost();
  const begun = readLink(first);
  let shown: Place = begun;
  let known = location.hash;
  take(begun, unreadParts(first));
  const read = () => {
    // Going to an address is reported twice (popstate, hashchange), and the page may have completed or corrected it in between.
    if (location.hash === known) return;
    known = location.hash;
    const next = readLink(known);
    shown = next; // before it is taken up: the effect below compares with it, and going to an address is no new place
    take(next, unreadParts(known));
  };
  window.addEventListener('popstate', read);
  window.addEventListener('hashchange', read);
  const stop = effect(() => {
    const next = link.value;
    // Somebody has just gone elsewhere, and the event that tells of it is still to come: their address stays.
    if (location.hash !== known) return;
    // Browsers take 200 addresses in 30 seconds, and nobody goes back through all that flew by.
    if (isRapidInput.value) return;
    write(next, isNewPlace(shown, chosen.value));
    known = location.hash;
    rememberForHost(encodeLink(next));
    shown = chosen.value;
  });
  return () => {
    stop();
    window.removeEventListener('popstate', read);
    window.removeEventListener('hashchange', read);
  };
}

/** The charts' part of the address: how the current chart is drawn. This browser remembers it for all tensors. */
const chartLink = computed<ChartChoices>(() => {
  if (chosenTensor.value === null) return NO_CHART_CHOICES;
  if (panelTab.value === 'histogram') return { ...NO_CHART_CHOICES, chart: histogramMode.value, axis: histogramScale.value };
  if (panelTab.value !== 'history') return NO_CHART_CHOICES;
  const history = {
    ...NO_CHART_CHOICES,
    log: historyLog.value ? '1' : '0',
    histories: pins.value.length > 0 ? historyView.value : null,
  } as const;
  return comparing.value ? { ...history, by: comparedStatistic.value } : { ...history, band: historyBand.value };
});

/** Takes up what an address says of the charts. */
function applyChartLink({ chart, axis, band, log, histories, by }: ChartChoices): void {
  if (chart !== null) histogramMode.value = chart;
  if (axis !== null) histogramScale.value = axis;
  if (band !== null) historyBand.value = band;
  if (log !== null) historyLog.value = log === '1';
  if (histories !== null) historyView.value = histories;
  if (by !== null) comparedStatistic.value = by;
}
