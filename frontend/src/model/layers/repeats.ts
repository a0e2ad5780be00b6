/** Repeated blocks among cards: runs of equal cards, drawn once. */

import type { CardKind } from './cards';

/** Criterion for equal cards. */
export interface Repeatable {
  readonly kind: CardKind | 'block';
  readonly path: string;
  readonly className: string;
  readonly operations: string;
  /** Positions of its input cards. */
  readonly inputs: readonly number[];
}

/** `count` times the `length` cards from `start` on. */
export interface Repeat {
  readonly start: number;
  readonly length: number;
  readonly count: number;
}

/** Maximum cards per repetition; fewer if there are thousands of cards, which would take seconds to compare. */
const LONGEST = 80;
const SHORTEST = 8;
const MOST_COMPARED = 60_000;
/** The first of `block`, `block_1`, `block_2` has no number. */
const UNNUMBERED = /(?<=^|\/)(?![^/]*_\d+(?:\/|$))[^/]+/g;
const NUMBER = /\d+[a-z]?(?![a-z])/g;

/**
 * Finds repeats: first among numbered names (`block_0`, `block_1`: the same number changes in all members), then among names numbered by
 * Keras. The most repetitions win, then the most hidden cards.
 */
export function findRepeats(cards: readonly Repeatable[]): Repeat[] {
  const search = new Search(cards);
  return [...search.found(true), ...search.found(false)].sort((a, b) => a.start - b.start);
}

class Search {
  private readonly token: Int32Array;
  private readonly stem: readonly string[];
  private readonly numbers: readonly (readonly (readonly [number, string])[])[];
  /** Distance of each card's inputs, ascending. */
  private readonly back: readonly (readonly number[])[];
  private readonly joined: readonly string[];
  private readonly taken: Uint8Array;

  constructor(private readonly cards: readonly Repeatable[]) {
    const tokens = new Map<string, number>();
    this.token = Int32Array.from(cards, ({ kind, className, operations }) => {
      const key = `${kind} ${className} ${operations}`;
      if (!tokens.has(key)) tokens.set(key, tokens.size);
      return tokens.get(key)!;
    });
    const paths = cards.map(({ path }) => path.replace(UNNUMBERED, '$&_0'));
    this.stem = paths.map((path) => path.replace(NUMBER, '#'));
    this.numbers = paths.map((path) =>
      [...path.matchAll(NUMBER)].map((match) => [path.slice(0, match.index).split('/').length, match[0]] as const),
    );
    this.back = cards.map(({ inputs }, at) => inputs.map((input) => at - input).sort((a, b) => a - b));
    this.joined = this.back.map((distances) => distances.join());
    this.taken = new Uint8Array(cards.length);
  }

  found(strict: boolean): Repeat[] {
    const { cards, token, taken } = this;
    const candidates: Repeat[] = [];
    const longest = Math.min(LONGEST, Math.max(SHORTEST, Math.floor(MOST_COMPARED / cards.length)));
    /** By length and phase: the end of the last run found. A run that begins inside is part of it. */
    const ends = new Map<number, number>();
    for (let start = 0; start < cards.length; start++) {
      if (taken[start]) continue;
      for (let length = 1; length <= Math.min(longest, (cards.length - start) >> 1); length++) {
        if (token[start] !== token[start + length]) continue;
        const phase = length * (LONGEST + 1) + (start % length);
        if (start < (ends.get(phase) ?? 0)) continue;
        let count = 1;
        while (this.alike(start, length, count, strict)) count++;
        if (count > 1) ends.set(phase, start + (count - 1) * length);
        if (count >= 3 || (count === 2 && length >= 4)) candidates.push({ start, length, count });
      }
    }
    candidates.sort(
      (a, b) => b.count - a.count || (b.count - 1) * b.length - (a.count - 1) * a.length || a.start - b.start || b.length - a.length,
    );
    const chosen: Repeat[] = [];
    for (const repeat of candidates) {
      const end = repeat.start + repeat.length * repeat.count;
      if (taken.subarray(repeat.start, end).includes(1)) continue;
      taken.fill(1, repeat.start, end);
      chosen.push(repeat);
    }
    return chosen;
  }

  /** Whether the `k`-th section of that length equals the first. */
  private alike(start: number, length: number, k: number, strict: boolean): boolean {
    const { cards, token } = this;
    if (start + (k + 1) * length > cards.length) return false;
    for (let offset = 0; offset < length; offset++) {
      const [a, b] = [start + offset, start + k * length + offset];
      if (token[a] !== token[b] || !this.joinedAlike(a, b, offset)) return false;
      const kind = cards[a]!.kind;
      if (kind === 'input' || kind === 'loss') return false;
    }
    return !strict || this.numberedAlike(start, length, k);
  }

  /** Whether two cards read the same cards of their section. */
  private joinedAlike(a: number, b: number, offset: number): boolean {
    if (this.joined[a] === this.joined[b]) return true;
    const inside = (at: number): string => this.back[at]!.filter((distance) => distance <= offset).join();
    return inside(a) === inside(b);
  }

  private numberedAlike(start: number, length: number, k: number): boolean {
    let moved: string | null = null;
    for (let offset = 0; offset < length; offset++) {
      const [a, b] = [start + offset, start + k * length + offset];
      if (this.cards[a]!.path === '') continue;
      if (this.stem[a] !== this.stem[b]) return false;
      const [before, after] = [this.numbers[a]!, this.numbers[b]!];
      const change = before
        .flatMap(([depth, number], i) => (number === after[i]![1] ? [] : [`${i} ${depth} ${number} ${after[i]![1]}`]))
        .join();
      if (moved !== null && change !== moved) return false;
      moved = change;
    }
    return moved !== null && moved !== '';
  }
}
