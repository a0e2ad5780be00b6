import { isBetween, sameTrace, TRACE_KINDS, type Trace } from '../graph/trace';
import { CARD_COLOURS, type CardColour } from '../layers/card_statistics';
import { PARTS, type Part } from '../layers/parts';
import { type DimMapping, mappingText, parseMapping, VALUE_MODES, type ValueMode } from '../value/dims';
import { parseCompareSort } from '../wire/comparison';
import type { SampleKind } from '../wire/events';
import { parseSort, sortText } from './tensor_table';
import { CHART_CHOICES, type ChartChoice, type ChartChoices, NO_CHART_CHOICES, readChartChoices } from './view_settings';

/** Content of the address after `#`: enough to restore the page, here or elsewhere. Null fields are omitted. */
export interface DeepLink extends ChartChoices {
  run: string | null;
  graph: string | null;
  worker: string | null;
  /** The current step, also while the page follows the latest one. */
  step: number | null;
  follow: boolean;
  tensor: string | null;
  visit: number | null;
  /** Path of the scope that is selected on the graph, where no node is. */
  selected: string | null;
  /** Part of the step that the graph of ops shows; null: its default. */
  part: Part | null;
  /** Key of the card that is selected in the layer view, where no node is. */
  layer: string | null;
  /** Measure that colours the cards. */
  shade: CardColour;
  /** Whether the node panel takes the whole page. */
  enlarged: boolean;
  view: View;
  /** Scope of the timeline; empty for everything. */
  scope: string;
  /** Its rows that the user expanded or collapsed. */
  unfolded: readonly string[];
  folded: readonly string[];
  /** Filter (by name, by numbers) and order (a column, `-` in front for descending) of the table of tensors. */
  match: string;
  where: string;
  sort: string;
  /** The file and line of the program, `file:line`; empty for the selected node's. */
  place: string;
  panel: PanelTab;
  /** Kind of value view; null: the default for the value. */
  value: ValueMode | null;
  /** Layout of its dimensions; null: the view's default. */
  dims: DimMapping | null;
  color: string;
  /** Expanded scopes of the graph, empty if all are collapsed; null for the graph's default, or too many for an address. */
  open: readonly string[] | null;
  /** Ungrouped blocks; `*` for all. */
  unstacked: readonly string[];
  /** The trace on the graph. */
  trace: Trace | null;
  /** Of a comparison: run B, its step and worker if they differ from A's, the compared steps, and the order of the table. */
  other: string | null;
  otherStep: number | null;
  otherWorker: string | null;
  at: CompareAt;
  rank: string;
  /** The selected range of steps, first and last; null for all. */
  range: StepRange | null;
  /** Tensors whose histories are compared. */
  pins: readonly string[];
  /** Of the events: search for samples by a part of their file name or id. */
  saw: string;
  of: SampleKind;
  /** Whether the table lists the current step, or all steps. */
  rows: TableRows;
  list: TableDisplay;
}

/** Fields that make a new place in the browser's history. */
export type Place = Pick<DeepLink, 'run' | 'graph' | 'tensor' | 'selected' | 'layer' | 'view' | 'scope' | 'unstacked' | 'trace'>;

/** Moving along the steps replaces the history entry, so "back" leads to the previous place and not through every step. */
export function isNewPlace(before: Place, after: Place): boolean {
  if ((['run', 'graph', 'tensor', 'selected', 'layer', 'view', 'scope'] as const).some((key) => before[key] !== after[key])) return true;
  return before.unstacked.join() !== after.unstacked.join() || !sameTrace(before.trace, after.trace);
}

export interface StepRange {
  first: number;
  last: number;
}

/** More lines than this cannot be distinguished. */
export const MOST_PINS = 8;

export type TableRows = 'step' | 'all';
export type TableDisplay = 'table' | 'histograms';

export type CompareAt = 'first' | 'step';

/** Views by their names in the address, in tab order. views/shell/MainView.tsx draws them. */
export const VIEW_TITLES = {
  layers: 'Layers',
  graph: 'Ops',
  table: 'Tensors',
  timeline: 'Timeline',
  source: 'Source',
  problems: 'Problems',
  compare: 'Compare',
  stepper: 'Replay',
  events: 'Events',
} as const;
export type View = keyof typeof VIEW_TITLES;
export const VIEWS = Object.keys(VIEW_TITLES) as View[];
export const VIEW_NAMES = VIEWS.map((value) => ({ value, label: VIEW_TITLES[value] }));

export const PANEL_TABS = ['overview', 'history', 'histogram', 'value', 'source', 'workers'] as const;
export type PanelTab = (typeof PANEL_TABS)[number];

export const EMPTY_LINK: DeepLink = {
  ...NO_CHART_CHOICES,
  run: null,
  graph: null,
  worker: null,
  step: null,
  follow: false,
  tensor: null,
  visit: null,
  selected: null,
  part: null,
  layer: null,
  shade: 'health',
  enlarged: false,
  view: 'graph',
  scope: '',
  unfolded: [],
  folded: [],
  match: '',
  where: '',
  sort: 'flow',
  place: '',
  panel: 'overview',
  value: null,
  dims: null,
  color: 'health',
  open: null,
  unstacked: [],
  trace: null,
  other: null,
  otherStep: null,
  otherWorker: null,
  at: 'first',
  rank: 'order',
  range: null,
  pins: [],
  saw: '',
  of: 'files',
  rows: 'step',
  list: 'table',
};

const NOTHING_ASKED = JSON.stringify(EMPTY_LINK);

/** Browsers and mail programs truncate longer addresses: further expanded scopes and ungrouped blocks are omitted. */
const LONGEST_LIST = 1200;

const TEXTS = ['run', 'graph', 'worker', 'tensor', 'selected', 'layer', 'other', 'otherWorker'] as const;
const NUMBERS = ['step', 'otherStep'] as const;
/** Maximum step of a dump (FORMAT.md). */
const LAST_VISIT = 2 ** 31 - 1;

export function encodeLink(link: DeepLink): string {
  const parts: string[] = [];
  const add = (key: string, value: string | number) => parts.push(`${key}=${encodePart(String(value))}`);
  for (const key of [
    'run',
    'graph',
    'worker',
    'step',
    'tensor',
    'visit',
    'selected',
    'layer',
    'other',
    'otherStep',
    'otherWorker',
  ] as const) {
    const value = link[key];
    if (value !== null) add(key, value);
  }
  if (link.part !== null) add('part', link.part);
  if (link.follow) add('follow', 1);
  if (link.enlarged) add('enlarged', 1);
  for (const key of [
    'view',
    'scope',
    'match',
    'where',
    'sort',
    'place',
    'panel',
    'color',
    'shade',
    'at',
    'rank',
    'saw',
    'of',
    'rows',
    'list',
  ] as const)
    if (link[key] !== EMPTY_LINK[key]) add(key, link[key]);
  if (link.value !== null) add('value', link.value);
  for (const key of Object.keys(CHART_CHOICES) as ChartChoice[]) {
    const choice = link[key];
    if (choice !== null) add(key, choice);
  }
  if (link.dims !== null) parts.push(`dims=${mappingText(link.dims)}`);
  if (link.range !== null) add('range', `${link.range.first}-${link.range.last}`);
  if (link.pins.length > 0) parts.push(`pins=${link.pins.map(encodePart).join(',')}`);
  for (const key of ['open', 'unstacked', 'unfolded', 'folded'] as const) {
    const list = link[key]?.map(encodePart).join(',') ?? '';
    const natural = link[key] === null || (key !== 'open' && list === ''); // all collapsed is a choice
    if (!natural && list.length <= LONGEST_LIST) parts.push(`${key}=${list}`);
  }
  if (link.trace !== null) parts.push(`trace=${traceText(link.trace)}`);
  if (link.view === 'graph' && parts.length > 0 && !namesView(parts.join('&'))) add('view', link.view);
  return parts.length === 0 ? '' : `#${parts.join('&')}`;
}

/** Slashes and colons stay readable; other characters that could end a field are escaped. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/%2F/g, '/').replace(/%3A/g, ':');
}

/** Reads an address hash; missing or malformed fields get their defaults. */
export function decodeLink(hash: string): DeepLink {
  const found = new Map<string, string>();
  for (const part of hash.replace(/^#/, '').split('&')) {
    const cut = part.indexOf('=');
    if (cut > 0) found.set(part.slice(0, cut), part.slice(cut + 1));
  }
  const link = { ...EMPTY_LINK, ...readChartChoices((name) => found.get(name)) };
  for (const key of TEXTS) link[key] = decodePart(found.get(key) ?? '') || null;
  for (const key of NUMBERS) link[key] = wholeNumber(found.get(key));
  const visit = wholeNumber(found.get('visit'));
  link.visit = visit !== null && visit <= LAST_VISIT ? visit : null;
  link.follow = found.get('follow') === '1';
  link.enlarged = found.get('enlarged') === '1';
  link.view = VIEWS.find((view) => view === found.get('view')) ?? EMPTY_LINK.view;
  for (const key of ['scope', 'match', 'where', 'place', 'saw'] as const) link[key] = decodePart(found.get(key) ?? '');
  link.sort = decodePart(found.get('sort') ?? '') || EMPTY_LINK.sort;
  // Also by the titles of their tabs: `histograms`.
  const panel = PANEL_TABS.find((tab) => tab === found.get('panel') || `${tab}s` === found.get('panel'));
  if (panel) link.panel = panel;
  link.value = VALUE_MODES.find((mode) => mode === found.get('value')) ?? null;
  link.dims = parseMapping(decodePart(found.get('dims') ?? ''));
  link.at = found.get('at') === 'step' ? 'step' : 'first';
  link.rank = decodePart(found.get('rank') ?? '') || EMPTY_LINK.rank;
  link.part = PARTS.find((part) => part === found.get('part')) ?? null;
  link.shade = CARD_COLOURS.find((colour) => colour === found.get('shade')) ?? EMPTY_LINK.shade;
  link.color = decodePart(found.get('color') ?? '') || EMPTY_LINK.color;
  link.of = found.get('of') === 'ids' ? 'ids' : 'files';
  link.rows = found.get('rows') === 'all' ? 'all' : 'step';
  link.list = found.get('list') === 'histograms' ? 'histograms' : 'table';
  link.range = parseRange(found.get('range'));
  link.pins = (parseList(found.get('pins')) ?? []).slice(0, MOST_PINS);
  link.open = parseList(found.get('open'));
  for (const key of ['unstacked', 'unfolded', 'folded'] as const) link[key] = parseList(found.get(key)) ?? EMPTY_LINK[key];
  link.trace = parseTrace(found.get('trace'));
  return link;
}

/** Whether an address selects a view: by its name, or by a place on the graph of ops. If not, the user's last view is shown. */
export function namesView(hash: string): boolean {
  const parts = hash.replace(/^#/, '').split('&');
  return parts.some(
    (part) => /^(?:part|tensor|selected|open|unstacked|trace|color)=/.test(part) || VIEWS.some((view) => part === `view=${view}`),
  );
}

/** The unreadable fields of an address hash, verbatim. */
export function unreadParts(hash: string): string[] {
  const parts = hash.replace(/^#/, '').split('&');
  return parts.filter((part) => {
    const [key = '', value = ''] = part.split(/=(.*)/s);
    const natural = String(EMPTY_LINK[key as keyof DeepLink]) === value || /^(follow|enlarged)=0$/.test(part);
    if (key === 'sort') return sortText(parseSort(value)) !== value;
    if (key === 'rank') return parseCompareSort(value) !== value;
    return key !== '' && value !== '' && !natural && JSON.stringify(decodeLink(part)) === NOTHING_ASKED;
  });
}

function parseList(text: string | undefined): string[] | null {
  return text?.split(',').map(decodePart).filter(Boolean) ?? null;
}

function traceText({ kind, from, to }: Trace): string {
  return (isBetween(kind) ? [kind, from, to] : [kind, from]).map(encodePart).join(',');
}

function parseTrace(text: string | undefined): Trace | null {
  const [word, from = '', to = ''] = (text ?? '').split(',').map(decodePart);
  const kind = TRACE_KINDS.find((candidate) => candidate === word);
  if (kind === undefined || from === '' || isBetween(kind) !== (to !== '')) return null;
  return { kind, from, to };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parseRange(text: string | undefined): StepRange | null {
  const [first, last] = (text ?? '').split('-').map((part) => wholeNumber(part));
  return first == null || last == null || last < first ? null : { first, last };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
