/** The table of tensors; only visible pages are fetched. */

import { computed, effect, signal } from '@preact/signals';
import type { Api } from '../../api/api';
import type { Query } from '../../api/provider';
import { Lru } from '../../lib/lru';
import { isAbort } from '../../lib/scheduling';
import { tableQuery, trendOf } from '../../model/run/tensor_table';
import type { Snapshot, SnapshotPage } from '../../model/wire/answers';
import { tableDisplay, tableFilter, tableRows, tableSort, view } from '../page/choices';
import { api } from '../provider';
import { noteAnswer, resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { serverSteps, step, stepColumns, stepIndex } from '../steps';

/** The current list of tensors: of the current step, or of all selected steps. Requested while its view is visible. */
const request = computed(() => {
  const [run, graph, at] = [runId.value, graphId.value, step.value];
  if (view.value !== 'table' || run === null || graph === null || at === null) return null;
  const all = tableRows.value === 'all';
  const query = {
    ...tableQuery(tableFilter.value, tableSort.value),
    graph,
    worker: workerId.value,
    step: all ? serverSteps.value : at,
    trend: trendOf(tableSort.value),
    samples: true,
    histograms: tableDisplay.value === 'histograms',
  };
  // A list of one step changes only while that step grows.
  const grown = all ? runRevision.value : stepColumns.value.snapshots[stepIndex.value];
  const list = JSON.stringify([run, query]);
  return { key: `${list} ${grown}`, subject: `${run} ${graph} ${tableRows.value}`, run, query, list };
});

let shown: { list: string; pages: SnapshotPages } | null = null;

export const tensorList = resource(request, async ({ run, query, list }, abort) => {
  // An incomplete condition is invalid: the list ignores it, and says so.
  const first = await api().snapshots(run, { ...query, lenient: true, limit: PAGE, offset: 0 }, abort);
  const refused = first.refused ?? null;
  const asked = refused === null ? query : { ...query, where: null };
  const before = shown?.list === list ? shown.pages : null;
  return { list, refused, undecided: first.undecided ?? 0, pages: new SnapshotPages(api(), run, asked, first.total, first.rows, before) };
});

effect(() => {
  const next = tensorList.data.value;
  if (shown !== next) shown?.pages.dispose();
  shown = next;
});

/** Rows per request: one and a half screens. */
export const PAGE = 100;

/** A list of any length; only visible pages are fetched. */
export class SnapshotPages {
  /** Increases with each page that arrives; views that read it are redrawn. */
  readonly arrived = signal(0);
  readonly error = signal<Error | null>(null);
  private readonly pages = new Lru<number, Snapshot[]>(40);
  private readonly pending = new Map<number, AbortController>();

  constructor(
    private readonly api: Pick<Api, 'snapshots' | 'snapshotPlace'>,
    private readonly run: string,
    private readonly query: Query,
    readonly total: number,
    first: readonly Snapshot[],
    /** The same list before the run grew: its rows stay visible until the new ones arrive. */
    private before: SnapshotPages | null = null,
  ) {
    if (before) before.before = null;
    if (first.length > 0) this.pages.set(0, [...first]);
  }

  /** The row, or null while it is not loaded; `load` fetches it. */
  row(index: number): Snapshot | null {
    return this.own(index) ?? this.before?.own(index) ?? null;
  }

  private own(index: number): Snapshot | null {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  /** Fetches missing rows from `first` to `last - 1`; requests for hidden rows are aborted. */
  load(first: number, last: number): void {
    const [low, high] = [Math.floor(first / PAGE), Math.floor((Math.max(first + 1, Math.min(last, this.total)) - 1) / PAGE)];
    for (const [page, abort] of this.pending)
      if (page < low || page > high) {
        abort.abort();
        this.pending.delete(page);
      }
    for (let page = low; page <= high; page++)
      if (page * PAGE < this.total && this.pages.get(page) === undefined && !this.pending.has(page)) void this.fetch(page);
  }

  /** Position of a tensor at a step in the list; null if it is not in it. */
  place(tensor: string, step: number, abort: AbortSignal): Promise<number | null> {
    return this.api.snapshotPlace(this.run, this.query, { tensor, step }, abort);
  }

  /** All rows up to `most`, for a file. */
  async all(most: number, progress: (done: number) => void): Promise<Snapshot[]> {
    const rows: Snapshot[] = [];
    while (rows.length < Math.min(most, this.total)) {
      const query = { ...this.query, trend: null, samples: false, histograms: false, limit: 1000, offset: rows.length };
      const page: SnapshotPage = await this.api.snapshots(this.run, query);
      if (page.rows.length === 0) break;
      rows.push(...page.rows);
      progress(rows.length);
    }
    return rows.slice(0, most);
  }

  dispose(): void {
    noteAnswer(null, this.retry);
    for (const abort of this.pending.values()) abort.abort();
    this.pending.clear();
  }

  /** Clears the failure, so that the visible rows are requested again. */
  readonly retry = (): void => {
    this.error.value = null;
    this.arrived.value++;
  };

  private async fetch(page: number): Promise<void> {
    if (this.error.peek()) return;
    const abort = new AbortController();
    this.pending.set(page, abort);
    try {
      const found = await this.api.snapshots(this.run, { ...this.query, limit: PAGE, offset: page * PAGE }, abort.signal);
      this.pages.set(page, found.rows);
      this.arrived.value++;
    } catch (error) {
      if (isAbort(error) || abort.signal.aborted) return;
      this.error.value = error as Error;
      noteAnswer(this.error.value, this.retry);
    } finally {
      if (this.pending.get(page) === abort) this.pending.delete(page);
    }
  }
}
