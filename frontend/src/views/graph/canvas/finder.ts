/** The search of one graph: its text, its hits in drawing order, and the current one. */

import { batch, signal } from '@preact/signals';
import { LatestRequest, runInSlices } from '../../../lib/scheduling';
import { type Marks, markNodes } from '../../../model/graph/neighbours';
import type { ScopeTree } from '../../../model/graph/tree';
import { linksOnce } from '../../../model/search/connected';
import { parseQuery, type Query } from '../../../model/search/query';
import type { SearchFacts } from '../../../model/search/search';
import { type SearchResult, searchInSlices } from '../../../model/search/search';
import type { GraphData } from '../../../model/wire/graph';

export class Finder {
  /** The query of the hits. */
  readonly text = signal('');
  /** The requested query: the same once the search is done. */
  asked = '';
  readonly hits = signal<Int32Array>(new Int32Array(0));
  readonly current = signal(-1);
  /** Whether the match was fuzzy. */
  readonly fuzzy = signal(false);
  /** Whether the text is invalid, and why there are no hits. */
  readonly unread = signal(false);
  readonly message = signal<string | null>(null);
  /** The paths between the ends of connected patterns, each link once. */
  ways: readonly Int32Array[] = [];
  /** Results; null without a search. */
  marks: Marks | null = null;

  /** The promise of the last search, as returned by `search`. */
  done: Promise<boolean> = Promise.resolve(true);
  private readonly latest = new LatestRequest();

  /**
   * Searches in slices: previous results stay until the end. The current hit stays if it is still one and is to be `kept`, else `step`
   * chooses. False if another search came first.
   */
  search(text: string, graph: GraphData, tree: ScopeTree, facts: SearchFacts, kept = false): Promise<boolean> {
    this.asked = text;
    const query = parseQuery(text);
    this.done = runInSlices(searchInSlices(graph, query, facts), this.latest.start()).then((found) => {
      if (found) this.take(text, query, found, tree, kept ? this.currentRow : -1);
      return found !== null;
    });
    return this.done;
  }

  private take(text: string, query: Query, { rows, fuzzy, ways, message }: SearchResult, tree: ScopeTree, current: number): void {
    this.ways = linksOnce(ways, tree.nodeCount);
    this.marks = markNodes(tree, rows);
    batch(() => {
      this.text.value = text;
      this.unread.value = query.error !== null;
      this.message.value = message;
      this.fuzzy.value = fuzzy;
      this.hits.value = rows;
      this.current.value = rows.indexOf(current);
    });
  }

  clear(): void {
    this.latest.cancel();
    this.asked = '';
    this.text.value = '';
    this.hits.value = new Int32Array(0);
    this.current.value = -1;
    this.unread.value = this.fuzzy.value = false;
    this.message.value = null;
    this.ways = [];
    this.marks = null;
  }

  /** Row of the next (1) or previous (-1) hit, cyclic; -1 if there are none. */
  step(direction: 1 | -1): number {
    const count = this.hits.value.length;
    if (count === 0) return -1;
    const before = this.current.value;
    this.current.value = before < 0 ? (direction > 0 ? 0 : count - 1) : (before + direction + count) % count;
    return this.hits.value[this.current.value]!;
  }

  /** Row of a hit, which becomes the current one. */
  choose(index: number): number {
    this.current.value = index;
    return this.currentRow;
  }

  get currentRow(): number {
    return this.hits.value[this.current.value] ?? -1;
  }
}
