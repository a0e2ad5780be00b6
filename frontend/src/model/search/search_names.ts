/** Texts in a column of names, for the search: literally, without the numbers of Keras, or letter by letter. */

import type { DictColumn, TextColumn } from '../../lib/columns';
import { mayPause, type Pieces } from '../../lib/scheduling';
import type { GraphData } from '../wire/graph';
import { fuzzyMatch, LETTER } from './fuzzy';
import { scorer } from './fuzzy_find';
import { isAscii, loweredWhole } from './lowered';

/** Looks for a text in all rows at once: they lie in one string, and searching that is what engines are fastest at. */
export function markText(column: TextColumn, text: string, hit: Uint8Array): void {
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

/** Keras numbers the scopes of a model: where there is no `net/conv1/Relu`, `net_1/conv1_1/Relu` is meant. An op's own number stays. */
export function markWithoutNumbers(column: TextColumn, text: string, hit: Uint8Array): void {
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
export function markContaining(column: DictColumn, text: string, hit: Uint8Array): void {
  const wanted = column.values.map((value) => value.toLowerCase().includes(text));
  for (let row = 0; row < hit.length; row++) if (wanted[column.codes[row]!]) hit[row] = 1;
}

/** Fewer points a letter are letters that happen to be there. */
const LEAST_A_LETTER = 0.85 * LETTER;
/** What fits nearly as well as the best is a hit, too. */
const NEARLY = 0.8;

/** Marks the nodes whose name or op type fits a text letter by letter, those that fit best; false if there is none. */
export function* markFuzzy(graph: GraphData, text: string, hit: Uint8Array): Pieces<boolean> {
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
