/** The search of one graph: its text, its hits in drawing order, and the one that is current. */

import { signal } from '@preact/signals';
import { linksOnce } from '../../model/connected';
import type { GraphData } from '../../model/graph';
import { type Marks, markNodes } from '../../model/neighbours';
import { parseQuery } from '../../model/query';
import { runQuery } from '../../model/search';
import type { SearchFacts } from '../../model/search_facts';
import type { ScopeTree } from '../../model/tree';

export class Finder {
  readonly text = signal('');
  readonly hits = signal<Int32Array>(new Int32Array(0));
  readonly current = signal(-1);
  /** Whether only the letters of the text were found. */
  readonly fuzzy = signal(false);
  /** Whether the text cannot be read, and in words why there are no hits. */
  readonly unread = signal(false);
  readonly told = signal<string | null>(null);
  /** The ways between the ends of what was found in a row, each link once. */
  ways: readonly Int32Array[] = [];
  /** What was found; null without a search. */
  marks: Marks | null = null;

  /** Searches anew; the current hit is left to `step`. */
  search(text: string, graph: GraphData, tree: ScopeTree, facts: SearchFacts): void {
    const query = parseQuery(text);
    const { rows, fuzzy, ways, told } = runQuery(graph, query, facts);
    this.text.value = text;
    this.current.value = -1;
    this.unread.value = query.error !== null;
    this.told.value = told;
    this.fuzzy.value = fuzzy;
    this.hits.value = rows;
    this.ways = linksOnce(ways, graph.nodeCount);
    this.marks = markNodes(tree, rows);
  }

  clear(): void {
    this.text.value = '';
    this.hits.value = new Int32Array(0);
    this.current.value = -1;
    this.unread.value = this.fuzzy.value = false;
    this.told.value = null;
    this.ways = [];
    this.marks = null;
  }

  /** Row of the next (1) or previous (-1) hit, around the ends; -1 if there are none. */
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
