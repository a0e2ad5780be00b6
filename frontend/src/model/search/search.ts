/** Searches the nodes of a graph, as parsed by query.ts. */

import type { DictColumn, TextColumn } from '../../lib/arrays/columns';
import { placesOf } from '../../lib/arrays/typed_arrays';
import { mayPause, runAtOnce, type SlicedWork } from '../../lib/scheduling';
import { isAuxiliary } from '../graph/op_kinds';
import { nodesOfPlace, type SourceMap } from '../run/source_lines';
import { type GraphData, rowOf } from '../wire/graph';
import { markConnected, type Step } from './connected';
import { fuzzyMatch, isAscii, LETTER, loweredWhole, scorer } from './fuzzy';
import { type ChainStep, type Field, type FieldTerm, QUERY_FIELDS, type Query, type Term } from './query';

export interface SearchResult {
  /** Rows of the matching nodes, for a name the most likely ones first, else ascending; none for an empty or invalid query. */
  readonly rows: Int32Array;
  /** Whether no name contained the text, and only its letters matched. */
  readonly fuzzy: boolean;
  /** The shortest paths between the ends of connected patterns, as rows in data flow order. */
  readonly ways: readonly Int32Array[];
  /** Why there are no hits, if more is known. */
  readonly message: string | null;
}

const NOTHING: SearchResult = { rows: new Int32Array(0), fuzzy: false, ways: [], message: null };

/** One search: the graph, facts about its nodes, and the interpretations of its terms. */
interface Search {
  readonly graph: GraphData;
  readonly facts: SearchFacts;
  fuzzy: boolean;
  ways: Int32Array[];
}

export function runQuery(graph: GraphData, query: Query, facts: SearchFacts = NO_FACTS): SearchResult {
  return runAtOnce(searchInSlices(graph, query, facts));
}

/** As `runQuery`, in slices that do not block the page. */
export function* searchInSlices(graph: GraphData, query: Query, facts: SearchFacts): SlicedWork<SearchResult> {
  if (query.error !== null) return { ...NOTHING, message: query.error };
  if (query.terms.length === 0) return NOTHING;
  const search: Search = { graph, facts, fuzzy: false, ways: [] };
  const matches = new Uint8Array(graph.nodeCount).fill(1);
  const hit = new Uint8Array(graph.nodeCount);
  let message: string | null = null;
  for (const term of query.terms) {
    hit.fill(0);
    yield* markTerm(search, term, hit);
    if (!term.hides && !hit.includes(1)) message ??= whyNothing(search, term);
    for (let row = 0; row < hit.length; row++) matches[row]! &= term.hides ? 1 - hit[row]! : hit[row]!;
  }
  const rows = byPenalty(graph, query, placesOf(matches));
  const ways = search.ways.filter((way) => matches[way[0]!] || matches[way[way.length - 1]!]);
  return { rows, fuzzy: search.fuzzy && rows.length > 0, ways, message: rows.length > 0 ? null : message };
}

/** Nodes that a user is less likely to look for: 0 for those that compute, 1 in the backward pass, 2 for constants, reads and arguments. */
export function searchPenalty({ names, opTypes }: GraphData): (row: number) => number {
  const auxiliary = opTypes.values.map(isAuxiliary);
  return (row) => (auxiliary[opTypes.codes[row]!] ? 2 : Number(BACKWARD.test(names.at(row))));
}

const BACKWARD = /(^|\/)gradient(s|_tape)(_\d+)?\//;

/** Nodes found by name, those that compute first; filters and paths keep the order of the graph. */
function byPenalty(graph: GraphData, { terms }: Query, rows: Int32Array): Int32Array {
  const named = terms.some(({ kind }) => kind === 'text' || kind === 'pattern') && terms.every(({ kind }) => kind !== 'chain');
  if (!named) return rows;
  const penalty = searchPenalty(graph);
  const groups: number[][] = [[], [], []];
  for (const row of rows) groups[penalty(row)]!.push(row);
  return Int32Array.from(groups.flat());
}

function* markTerm(search: Search, term: Term, hit: Uint8Array): SlicedWork<void> {
  const { graph } = search;
  if (term.kind === 'text') yield* markWord(search, term.text, hit);
  else if (term.kind === 'pattern') {
    for (let row = 0; row < hit.length; row++) {
      if (mayPause(row)) yield;
      if (term.pattern.test(graph.names.at(row)) || term.pattern.test(graph.paths.at(row))) hit[row] = 1;
    }
  } else if (term.kind === 'chain') {
    const steps: Step[] = [];
    for (const step of term.steps) steps.push(step && (yield* stepRows(search, step)));
    const ways = markConnected(graph.nodeCount, graph.edges, steps, hit);
    if (!term.hides) search.ways.push(...ways);
  } else markField(search, term, hit);
}

/** A text in a name; if no name contains it, its next best interpretation. */
function* markWord(search: Search, text: string, hit: Uint8Array): SlicedWork<void> {
  const { graph } = search;
  const found = () => hit.includes(1);
  markText(graph.names, text, hit);
  yield;
  markText(graph.paths, text, hit);
  yield;
  if (text.includes('/') && !found()) markWithoutNumbers(graph.names, text, hit);
  const node = /^(.+):\d+$/.exec(text)?.[1]; // of a tensor's name
  if (node !== undefined && !found()) markText(graph.names, node, hit);
  if (!found()) markContaining(graph.opTypes, text, hit);
  if (!found()) markContaining(graph.layers, text, hit);
  if (!found() && (yield* markFuzzy(graph, text, hit))) search.fuzzy = true;
}

function markField({ graph, facts }: Search, { field, text }: FieldTerm, hit: Uint8Array): void {
  const rows = (found: Iterable<number>): void => {
    for (const row of found) if (row >= 0 && row < hit.length) hit[row] = 1;
  };
  if (field === 'shape') markContaining(graph.shapes, text.replaceAll('x', '×').replaceAll(',', '×'), hit);
  else if (field === 'source') rows(nodesOfPlace(facts.lines, text) ?? []);
  else if (field === 'problem') rows(problemRows(graph, facts, text));
  else if (field !== 'is') markValues(dictOf(graph, field), text, hit);
  else if (text === 'nan' || text === 'inf') {
    for (let row = 0; row < hit.length; row++) if (facts[text](row)) hit[row] = 1;
  } else rows(problemRows(graph, facts, text));
}

/** Nodes with problems whose rule contains a text; all for `problem`, `problems` and `*`. */
function problemRows(graph: GraphData, { problems }: SearchFacts, text: string): number[] {
  const all = /^(problems?|\*)$/.test(text);
  return problems.filter(({ rule }) => all || rule.toLowerCase().includes(text)).map(({ node }) => rowOf(graph, node));
}

/** The nodes that match one part of a connected pattern: by op type or label. */
function* stepRows(search: Search, step: Exclude<ChainStep, null>): SlicedWork<Uint8Array> {
  const { graph } = search;
  const rows = new Uint8Array(graph.nodeCount);
  if (!(step instanceof RegExp)) markField(search, step, rows);
  else {
    const fits = graph.opTypes.values.map((value) => step.test(value));
    for (let row = 0; row < rows.length; row++) {
      if (mayPause(row)) yield;
      if (fits[graph.opTypes.codes[row]!] || step.test(labelOf(graph.names.at(row)))) rows[row] = 1;
    }
  }
  return rows;
}

const labelOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

function dictOf(graph: GraphData, field: Exclude<Field, 'shape' | 'is' | 'problem' | 'source'>): DictColumn {
  return { op: graph.opTypes, layer: graph.layers, dtype: graph.dtypes, device: graph.devices, function: graph.functions }[field];
}

/** An exact value wins over values that contain the text: `op:add` does not mean AddV2 if there is an Add. */
function markValues(column: DictColumn, text: string, hit: Uint8Array): void {
  const lower = column.values.map((value) => value.toLowerCase());
  const exact = lower.includes(text);
  const wanted = lower.map((value) => (exact ? value === text : value.includes(text)));
  for (let row = 0; row < hit.length; row++) if (wanted[column.codes[row]!]) hit[row] = 1;
}

/** Why a term has no hits, and the fix; null if there is nothing to add. */
function whyNothing({ facts }: Search, term: Term): string | null {
  if (term.kind === 'text') {
    const field = /^(\w+):/.exec(term.text)?.[1];
    if (field) return `no name contains ${term.text}, and ${field}: is not one of ${QUERY_FIELDS.map((name) => `${name}:`).join(' ')}`;
    const isPattern = /[[\](){}*+?^$|\\]/.test(term.text);
    return isPattern ? `No match for "${term.text}". For a regex use /…/` : null;
  }
  if (term.kind !== 'field') return null;
  const { field, text } = term;
  if (field === 'source') return facts.lines === null ? 'source lines are still loading' : `no node was created on line ${text}`;
  const health = field === 'is' && (text === 'nan' || text === 'inf');
  if (health) return `no node has ${text === 'nan' ? 'NaN' : 'Inf'} at this step`;
  if (field !== 'is' && field !== 'problem') return `no ${field} in this graph contains ${text}`;
  const rules = [...new Set(facts.problems.map(({ rule }) => rule))];
  return rules.length === 0 ? 'this graph has no findings' : `no finding matches ${text}; this graph has ${rules.join(', ')}`;
}

// Searches texts in a column of names: literally, without Keras' numbers, or fuzzily.

/** Searches a text in all rows at once: they are one string, which engines search fastest. */
function markText(column: TextColumn, text: string, hit: Uint8Array): void {
  if (!isAscii(column)) {
    for (let row = 0; row < hit.length; row++) if (column.at(row).toLowerCase().includes(text)) hit[row] = 1;
    return;
  }
  const whole = loweredWhole(column);
  let row = 0;
  for (let at = whole.indexOf(text); at >= 0; ) {
    while (column.offsets[row + 1]! <= at) row++;
    const inside = at + text.length <= column.offsets[row + 1]!;
    if (inside) hit[row] = 1;
    at = whole.indexOf(text, inside ? column.offsets[row + 1]! : at + 1);
  }
}

const plain = new WeakMap<TextColumn, string[]>();

/** Keras numbers the scopes of a model: if there is no `net/conv1/Relu`, `net_1/conv1_1/Relu` is meant. The number of an op stays. */
function markWithoutNumbers(column: TextColumn, text: string, hit: Uint8Array): void {
  let rows = plain.get(column);
  if (rows === undefined) {
    rows = Array.from({ length: column.length }, (_, row) =>
      column
        .at(row)
        .toLowerCase()
        .replace(/_\d+(?=\/)/g, ''),
    );
    plain.set(column, rows);
  }
  for (let row = 0; row < hit.length; row++) if (rows[row]?.includes(text)) hit[row] = 1;
}

/** Rows whose value contains a text. */
function markContaining(column: DictColumn, text: string, hit: Uint8Array): void {
  const wanted = column.values.map((value) => value.toLowerCase().includes(text));
  for (let row = 0; row < hit.length; row++) if (wanted[column.codes[row]!]) hit[row] = 1;
}

/** Fewer points per letter are random letters. */
const LEAST_A_LETTER = 0.85 * LETTER;
/** Scores nearly as good as the best are hits, too. */
const NEARLY = 0.8;

/** Marks the best fuzzy matches by name or op type; false if there is none. */
function* markFuzzy(graph: GraphData, text: string, hit: Uint8Array): SlicedWork<boolean> {
  if (text.length < 2) return false;
  const terms = [text];
  const [name, ops] = [scorer(graph.names, terms), graph.opTypes.values.map((value) => fuzzyMatch(value, terms).score)];
  const scores = new Float32Array(graph.nodeCount);
  let best = LEAST_A_LETTER * text.length;
  for (let row = 0; row < scores.length; row++) {
    if (mayPause(row)) yield;
    const score = Math.max(name(row), ops[graph.opTypes.codes[row]!] ?? -1);
    scores[row] = score;
    if (score * NEARLY > best) best = score * NEARLY;
  }
  let found = false;
  for (let row = 0; row < scores.length; row++) {
    if (scores[row]! < best) continue;
    hit[row] = 1;
    found = true;
  }
  return found;
}

/** Facts about a graph's nodes for a search. */
export interface SearchFacts {
  /** Whether a node is NaN or infinite at the current step, for `is:nan` and `is:inf`. */
  nan(row: number): boolean;
  inf(row: number): boolean;
  /** Problems of the run: a rule's name (`NaN` and `Inf` for tensors that were ever non-finite) and the node. */
  readonly problems: readonly { readonly rule: string; readonly node: string }[];
  /** Lines that created nodes; null while unknown. */
  readonly lines: SourceMap | null;
}

export const NO_FACTS: SearchFacts = { nan: () => false, inf: () => false, problems: [], lines: null };
