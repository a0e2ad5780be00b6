import { TextColumn } from '../../lib/arrays/columns';
import { mayPause, runInSlices, type SlicedWork } from '../../lib/scheduling';

/**
 * Fuzzy matching as in editors: the letters of a term in order, not necessarily adjacent (`mtml` matches MatMul). Adjacent letters,
 * beginnings of words (`_`, `/`, `.`, camelCase) and the last part of a path score higher. A text is a range of a longer one, so a column
 * of names is searched without creating strings.
 */

/** Points per matched letter, before bonuses. */
export const LETTER = 16;
const TOGETHER = 12;
const LABEL_START = 14;
const WORD_START = 10;
const IN_LABEL = 8;
const WHOLE_LABEL = 24;
const GAP = 3;
const MOST_GAP = 12;
const LENGTH = 0.1;
/** A term right after the previous one: `block 1` means block_1, not the 1 at the end of block_0_1. */
const NEXT_TERM = 20;

const [SLASH, UPPER_A, UPPER_Z, LOWER_A, LOWER_Z, ZERO, NINE] = [47, 65, 90, 97, 122, 48, 57];

/** A query's terms; all of them must match. */
export const fuzzyTerms = (query: string): string[] => query.toLowerCase().split(/\s+/).filter(Boolean);

/** Next position of the whole term of a number, Infinity for none; must be called from front to end. */
type NextPlace = (term: number, from: number) => number;

/**
 * Score of `text[start:end]`, -1 if a term does not match. `lower` is `text` in lower case, of the same length. `places` receives the
 * positions of the matched letters in the whole `text`. `nextPlace` avoids searching long texts for missing terms.
 */
function fuzzyScore(
  text: string,
  lower: string,
  start: number,
  end: number,
  terms: readonly string[],
  places?: number[],
  nextPlace: NextPlace = (term, from) => placeOrNone(lower.indexOf(terms[term]!, from)),
): number {
  let label = end - 1; // a search for the slash would continue into other rows
  while (label > start && lower.charCodeAt(label - 1) !== SLASH) label--;
  let total = 0;
  let next = -1;
  for (let i = 0; i < terms.length; i++) {
    const term = terms[i]!;
    if (term.length > found.length) found = new Int32Array(2 * term.length);
    let score = together(text, lower, start, end, label, next, term, i, nextPlace);
    if (score < 0) {
      if (term.length === 1 || !scattered(lower, start, end, term)) return -1; // one letter is either adjacent or missing
      score = placesScore(text, lower, start, end, label, next, term);
      next = found[term.length - 1]! + 1;
      if (places) for (let letter = 0; letter < term.length; letter++) places.push(found[letter]!);
    } else {
      next = wholeAt + term.length;
      if (places) for (let letter = 0; letter < term.length; letter++) places.push(wholeAt + letter);
    }
    total += score;
  }
  return Math.max(0, total - LENGTH * (end - start));
}

/** For a separate text. */
export function fuzzyMatch(text: string, terms: readonly string[]): { score: number; places: number[] } {
  const places: number[] = [];
  return { score: fuzzyScore(text, lowerOf(text), 0, text.length, terms, places), places };
}

/** If lower case has another length (İ), positions would not match. */
function lowerOf(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}

const placeOrNone = (at: number): number => (at < 0 ? Number.POSITIVE_INFINITY : at);

/** Positions of the letters of a scattered term, and the start of an adjacent one. */
let found = new Int32Array(64);
let wholeAt = -1;

/** Points of the letters at the positions in `found`. */
function placesScore(text: string, lower: string, start: number, end: number, label: number, next: number, { length }: string): number {
  let score = (found[0]! >= label ? IN_LABEL : 0) + nextBonus(lower, next, found[0]!);
  if (length === end - label && found[0] === label) score += WHOLE_LABEL;
  for (let i = 0; i < length; i++) {
    const place = found[i]!;
    const before = i === 0 ? place - 1 : found[i - 1]!;
    const begins = startBonus(text, start, label, place);
    const gap = place - before - 1;
    score += LETTER + (i > 0 && gap === 0 ? Math.max(TOGETHER, begins) : begins - Math.min(MOST_GAP, gap === 0 ? 0 : GAP + gap));
  }
  return score;
}

/** Points of the whole term at its best position, the last of equal ones; -1 if it is missing. */
function together(
  text: string,
  lower: string,
  start: number,
  end: number,
  label: number,
  next: number,
  { length }: string,
  term: number,
  nextPlace: NextPlace,
): number {
  let most = -1;
  for (let at = nextPlace(term, start); at + length <= end; at = nextPlace(term, at + 1)) {
    const bonus = startBonus(text, start, label, at) + (at >= label ? IN_LABEL : 0) + nextBonus(lower, next, at);
    if (bonus < most) continue;
    wholeAt = at;
    most = bonus;
  }
  if (most < 0) return -1;
  const intoLabel = label > wholeAt && label < wholeAt + length ? LABEL_START - TOGETHER : 0;
  const all = wholeAt === label && length === end - label ? WHOLE_LABEL : 0;
  return most + length * LETTER + (length - 1) * TOGETHER + intoLabel + all;
}

/** The letters as close to the end as possible, then as close together as possible. */
function scattered(lower: string, start: number, end: number, term: string): boolean {
  let letter = term.length - 1;
  let at = end - 1;
  for (; at >= start && letter >= 0; at--) if (lower.charCodeAt(at) === term.charCodeAt(letter)) letter--;
  if (letter >= 0) return false;
  for (at++, letter = 0; letter < term.length; at++) if (lower.charCodeAt(at) === term.charCodeAt(letter)) found[letter++] = at;
  return true;
}

/** `next` is the end of the previous term, -1 for the first; a separator may be in between. */
function nextBonus(lower: string, next: number, place: number): number {
  const follows = place === next || (place === next + 1 && lower.charCodeAt(next) !== SLASH);
  return next >= 0 && follows ? NEXT_TERM : 0;
}

function startBonus(text: string, start: number, label: number, place: number): number {
  if (place === label) return LABEL_START;
  if (place === start) return WORD_START;
  const [before, here] = [text.charCodeAt(place - 1), text.charCodeAt(place)];
  if (!isLetter(before) && !isDigit(before)) return isLetter(here) || isDigit(here) || before === SLASH ? WORD_START : 0;
  const camel = here >= UPPER_A && here <= UPPER_Z && before >= LOWER_A && before <= LOWER_Z;
  return camel || (isDigit(here) && !isDigit(before)) ? WORD_START - 2 : 0;
}

/** Anything beyond ASCII counts as a letter. */
const isLetter = (code: number): boolean => (code >= LOWER_A && code <= LOWER_Z) || (code >= UPPER_A && code <= UPPER_Z) || code > 127;
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

const lowered = new WeakMap<TextColumn, string>();

/** All rows of a column joined in lower case, created once; with the column's offsets if `isAscii` is true. */
export function loweredWhole(column: TextColumn): string {
  let whole = lowered.get(column);
  if (whole === undefined) {
    whole = column.whole().toLowerCase();
    lowered.set(column, whole);
  }
  return whole;
}

/** Whether the column's offsets count the characters of `loweredWhole`. */
export const isAscii = (column: TextColumn): boolean => loweredWhole(column).length === column.bytes.length;

// Searches the best fuzzy matches of many texts in slices, so that typing continues.

/** Source of a search: a column of names, or a list. */
export interface Texts {
  readonly length: number;
  at(row: number): string | undefined;
}

interface Match {
  readonly row: number;
  readonly score: number;
}

/** The best rows, best first (the first of equal ones), at most `most`; null once `signal` is aborted. `penalty`: points that a row loses. */
export function findFuzzy(
  texts: Texts,
  terms: readonly string[],
  most: number,
  signal: AbortSignal,
  penalty: (row: number) => number = () => 0,
): Promise<readonly Match[] | null> {
  return runInSlices(bestOf(texts, terms, most, penalty), signal);
}

function* bestOf(texts: Texts, terms: readonly string[], most: number, penalty: (row: number) => number): SlicedWork<readonly Match[]> {
  const score = scorer(texts, terms);
  const best: Match[] = [];
  for (let row = 0; row < texts.length; row++) {
    if (mayPause(row)) yield;
    const matched = score(row);
    const points = matched < 0 ? matched : Math.max(0, matched - penalty(row));
    if (points >= 0 && (best.length < most || points > best[best.length - 1]!.score)) insert(best, { row, score: points }, most);
  }
  return best;
}

/** Scores rows, which must be in order; ASCII columns without creating texts. */
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

/** Searches the next position of each term in all rows at once, which engines do fastest. */
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
