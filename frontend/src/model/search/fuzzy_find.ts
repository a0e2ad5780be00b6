/** Looks for the best fuzzy matches of many texts, a piece at a time, so that typing goes on meanwhile. */

import { TextColumn } from '../../lib/columns';
import { inPieces, mayPause, type Pieces } from '../../lib/scheduling';
import { fuzzyScore, lowerOf, type NextPlace, placeOrNone } from './fuzzy';
import { isAscii, loweredWhole } from './lowered';

/** What is searched: a column of names, or a list. */
export interface Texts {
  readonly length: number;
  at(row: number): string | undefined;
}

export interface Match {
  readonly row: number;
  readonly score: number;
}

/** The rows that fit best, best first (of equal ones the first), at most `most`; null once `signal` is aborted. */
export function findFuzzy(texts: Texts, terms: readonly string[], most: number, signal: AbortSignal): Promise<readonly Match[] | null> {
  return inPieces(bestOf(texts, terms, most), signal);
}

function* bestOf(texts: Texts, terms: readonly string[], most: number): Pieces<readonly Match[]> {
  const score = scorer(texts, terms);
  const best: Match[] = [];
  for (let row = 0; row < texts.length; row++) {
    if (mayPause(row)) yield;
    const points = score(row);
    if (points >= 0 && (best.length < most || points > best[best.length - 1]!.score)) insert(best, { row, score: points }, most);
  }
  return best;
}

/** Scores rows, which are asked for in their order: of a column of ASCII without making their texts. */
export function scorer(texts: Texts, terms: readonly string[]): (row: number) => number {
  if (texts instanceof TextColumn && isAscii(texts)) {
    const [whole, lower, { offsets }] = [texts.whole(), loweredWhole(texts), texts];
    const nextPlace = placesOf(lower, terms);
    return (row) => fuzzyScore(whole, lower, offsets[row]!, offsets[row + 1]!, terms, undefined, nextPlace);
  }
  return (row) => {
    const text = texts.at(row) ?? '';
    return fuzzyScore(text, lowerOf(text), 0, text.length, terms);
  };
}

/** Looks for the next place of each term at once in all rows, which engines are fastest at. */
function placesOf(lower: string, terms: readonly string[]): NextPlace {
  const next = terms.map(() => -1);
  return (term, from) => {
    if (next[term]! < from) next[term] = placeOrNone(lower.indexOf(terms[term]!, from));
    return next[term]!;
  };
}

function insert(best: Match[], match: Match, most: number): void {
  let at = best.length;
  while (at > 0 && best[at - 1]!.score < match.score) at--;
  best.splice(at, 0, match);
  if (best.length > most) best.pop();
}
