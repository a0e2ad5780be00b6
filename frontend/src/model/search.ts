/**
 * Search over a graph's nodes. Terms are separated by spaces and all must hold: a text in the name, `/a regular expression/`,
 * a field: `op:MatMul`, `layer:dense`, `dtype:float32`, `shape:32`, `device:gpu`, `is:nan`, `is:inf`, or nodes in a row:
 * `MatMul->.*->Softmax` (connected.ts).
 */

import type { DictColumn, TextColumn } from '../lib/columns';
import { markConnected } from './connected';
import type { GraphData } from './graph';

export type Term =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'pattern'; readonly pattern: RegExp }
  | FieldTerm
  | { readonly kind: 'chain'; readonly steps: readonly ChainStep[] };

interface FieldTerm {
  readonly kind: 'field';
  readonly field: Field;
  readonly text: string;
}

/** One node of a connected pattern: its op type fits, or a field; null for any number of nodes. */
type ChainStep = RegExp | FieldTerm | null;

export const FIELDS = ['op', 'layer', 'dtype', 'shape', 'device', 'function', 'is'] as const;
export type Field = (typeof FIELDS)[number];

export interface Query {
  readonly terms: readonly Term[];
  /** What is wrong with the text, in words for its author. */
  readonly error: string | null;
}

export function parseQuery(text: string): Query {
  const terms: Term[] = [];
  let error: string | null = null;
  // A pattern runs to its closing slash, spaces and all; a name like a/b is no pattern.
  const joined = text.replace(/\s*->\s*/g, '->');
  for (const match of joined.matchAll(/(?:^|(?<=\s))\/((?:\\.|[^\\/])+)\/(?=\s|$)|(\S+)/g)) {
    try {
      if (match[1] !== undefined) terms.push({ kind: 'pattern', pattern: new RegExp(match[1], 'i') });
      else if (match[2]!.includes('->')) terms.push({ kind: 'chain', steps: match[2]!.split('->').filter(Boolean).map(chainStep) });
      else terms.push(wordTerm(match[2]!));
    } catch (failure) {
      error = `${(failure as Error).message.replace(/^Invalid regular expression: /, 'not a regular expression: ')}`;
    }
  }
  return { terms, error };
}

function wordTerm(word: string): Term & { kind: 'field' | 'text' } {
  const colon = word.indexOf(':');
  const field = FIELDS.find((name) => name === word.slice(0, colon).toLowerCase());
  if (field && colon < word.length - 1) return { kind: 'field', field, text: word.slice(colon + 1).toLowerCase() };
  return { kind: 'text', text: word.toLowerCase() };
}

/** Throws SyntaxError for what is no regular expression. */
function chainStep(text: string): ChainStep {
  if (text === '.*') return null;
  const term = wordTerm(text);
  return term.kind === 'field' ? term : new RegExp(`^(?:${text})$`, 'i');
}

/** Whether a node counts for `is:nan` and `is:inf`. */
export interface HealthTest {
  nan(row: number): boolean;
  inf(row: number): boolean;
}

/** Row numbers of the nodes that match, ascending; none for an empty query or a broken one. */
export function runQuery(graph: GraphData, query: Query, health?: HealthTest): Int32Array {
  if (query.error !== null || query.terms.length === 0) return new Int32Array(0);
  const matches = new Uint8Array(graph.nodeCount).fill(1);
  const hit = new Uint8Array(graph.nodeCount);
  for (const term of query.terms) {
    hit.fill(0);
    markTerm(graph, term, hit, health);
    for (let row = 0; row < hit.length; row++) matches[row]! &= hit[row]!;
  }
  const rows: number[] = [];
  for (let row = 0; row < matches.length; row++) if (matches[row]) rows.push(row);
  return Int32Array.from(rows);
}

function markTerm(graph: GraphData, term: Term, hit: Uint8Array, health: HealthTest | undefined): void {
  if (term.kind === 'text') {
    markText(graph.names, term.text, hit);
    markText(graph.paths, term.text, hit);
    if (term.text.includes('/') && !hit.includes(1)) markWithoutNumbers(graph.names, term.text, hit);
  } else if (term.kind === 'pattern') {
    for (let row = 0; row < hit.length; row++)
      if (term.pattern.test(graph.names.at(row)) || term.pattern.test(graph.paths.at(row))) hit[row] = 1;
  } else if (term.kind === 'chain') {
    const steps = term.steps.map((step) => step && stepRows(graph, step, health));
    markConnected(graph.nodeCount, graph.edges, steps, hit);
  } else if (term.field === 'shape') markShapes(graph.shapes, term.text.replaceAll('x', '×').replaceAll(',', '×'), hit);
  else if (term.field === 'is') markHealth(term.text, hit, health);
  else markValues(dictOf(graph, term.field), term.text, hit);
}

/** The nodes that one step of a connected pattern fits. */
function stepRows(graph: GraphData, step: RegExp | FieldTerm, health: HealthTest | undefined): Uint8Array {
  const rows = new Uint8Array(graph.nodeCount);
  if (!(step instanceof RegExp)) markTerm(graph, step, rows, health);
  else {
    const fits = graph.opTypes.values.map((value) => step.test(value));
    for (let row = 0; row < rows.length; row++) if (fits[graph.opTypes.codes[row]!]) rows[row] = 1;
  }
  return rows;
}

function dictOf(graph: GraphData, field: Exclude<Field, 'shape' | 'is'>): DictColumn {
  return { op: graph.opTypes, layer: graph.layers, dtype: graph.dtypes, device: graph.devices, function: graph.functions }[field];
}

/** A value that is the text wins over values that only contain it: `op:add` does not mean AddV2 where there is an Add. */
function markValues(column: DictColumn, text: string, hit: Uint8Array): void {
  const lower = column.values.map((value) => value.toLowerCase());
  const exact = lower.includes(text);
  const wanted = lower.map((value) => (exact ? value === text : value.includes(text)));
  for (let row = 0; row < hit.length; row++) if (wanted[column.codes[row]!]) hit[row] = 1;
}

function markShapes(column: DictColumn, text: string, hit: Uint8Array): void {
  const wanted = column.values.map((value) => value.includes(text));
  for (let row = 0; row < hit.length; row++) if (wanted[column.codes[row]!]) hit[row] = 1;
}

function markHealth(text: string, hit: Uint8Array, health: HealthTest | undefined): void {
  const test = text === 'nan' ? health?.nan : text === 'inf' ? health?.inf : undefined;
  if (!test) return;
  for (let row = 0; row < hit.length; row++) if (test(row)) hit[row] = 1;
}

const plain = new WeakMap<TextColumn, string[]>();

/** Keras numbers the scopes of a model: where there is no `net/conv1/Relu`, `net_1/conv1_1/Relu` is meant. An op's own number stays. */
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

const lowered = new WeakMap<TextColumn, string>();

/** Looks for a text in all rows at once: they lie in one string, and searching that is what engines are fastest at. */
function markText(column: TextColumn, text: string, hit: Uint8Array): void {
  let whole = lowered.get(column);
  if (whole === undefined) {
    whole = column.whole().toLowerCase();
    lowered.set(column, whole);
  }
  if (whole.length !== column.bytes.length) {
    for (let row = 0; row < hit.length; row++) if (column.at(row).toLowerCase().includes(text)) hit[row] = 1;
    return;
  }
  let row = 0;
  for (let at = whole.indexOf(text); at >= 0; ) {
    row = rowAt(column.offsets, at, row);
    const inside = at + text.length <= column.offsets[row + 1]!;
    if (inside) hit[row] = 1;
    at = whole.indexOf(text, inside ? column.offsets[row + 1]! : at + 1);
  }
}

/** The row whose text holds a position, from `first` on. */
function rowAt(offsets: Uint32Array, position: number, first: number): number {
  let [low, high] = [first, offsets.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle]! <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
