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
 * Keeps the address and the choices in sync. The hash describes the whole view, defaults included, so that a recipient sees the same;
 * back and forward read it.
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
  part: choices.chosenPart.value ?? (isPlaced.value ? 'forward' : null),
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
 * The choices before the page completes or corrects them (a run by its id, an existing graph). Places are compared by these, so that
 * "back" to an address that the page completes does not lead forward again.
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

/** Whether an address leads to a place on the graph of ops. Without a part, `readLink` looks for it in the whole graph. */
const leadsToOps = ({ view, open, selected, tensor, trace }: Pick<DeepLink, 'view' | 'open' | 'selected' | 'tensor' | 'trace'>): boolean =>
  view === 'graph' && (open !== null || selected !== null || tensor !== null || trace !== null);

const isPlaced = computed(() => leadsToOps({ ...chosen.value, open: choices.openScopes.value }));

/** The choices in an address; if it has no view, that of its line of the program, or the user's last view of the model. */
function readLink(hash: string): DeepLink {
  const link = decodeLink(hash);
  if (!namesView(hash)) return { ...link, view: link.place === '' ? modelPicture.peek() : 'source' };
  // Scopes and nodes of any part are in the whole graph.
  return leadsToOps(link) && link.part === null ? { ...link, part: 'all' } : link;
}

/** Applies an address. */
function take(next: DeepLink, unread: readonly string[]): void {
  const { run, graph, worker, tensor, visit, dims, range, selected, color } = next;
  // Rows of the timeline such as `Cast …` and `net/…` are several nodes.
  const rows = [...next.unfolded, ...next.folded].filter((path) => !path.endsWith('…'));
  const scopes = [...(next.open ?? []), ...next.unstacked, ...rows].filter((scope) => scope !== '*');
  const [step, layer] = [next.follow ? null : next.step, tensor === null && selected === null ? next.layer : null];
  linkRequest.value = { run, graph, worker, tensor, visit, dims, range, selected, scopes, layer, color, step, unread };
  apply(next);
}

function write(next: DeepLink, push: boolean): void {
  // From location, not relative: a base element in TensorBoard's iframe would redirect a bare "#…".
  const address = location.href.replace(/#.*$/, '') + encodeLink(next);
  if (address === location.href) return;
  if (push) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

/** Adds a history entry for the current view, before it changes as a whole. */
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
    // Navigation is reported twice (popstate, hashchange), and the page may have completed or corrected the address in between.
    if (location.hash === known) return;
    known = location.hash;
    const next = readLink(known);
    shown = next; // before it is applied: the effect below compares with it, and navigation is not a new place
    take(next, unreadParts(known));
  };
  window.addEventListener('popstate', read);
  window.addEventListener('hashchange', read);
  const stop = effect(() => {
    const next = link.value;
    // The user has just navigated, but the event is pending: their address stays.
    if (location.hash !== known) return;
    // Browsers accept 200 addresses in 30 seconds.
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

/** The charts' fields of the address. This browser stores them for all tensors. */
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

/** Applies the charts' fields of an address. */
function applyChartLink({ chart, axis, band, log, histories, by }: ChartChoices): void {
  if (chart !== null) histogramMode.value = chart;
  if (axis !== null) histogramScale.value = axis;
  if (band !== null) historyBand.value = band;
  if (log !== null) historyLog.value = log === '1';
  if (histories !== null) historyView.value = histories;
  if (by !== null) comparedStatistic.value = by;
}
