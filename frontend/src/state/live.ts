/** Keeps the list of runs, and the server's reading progress, up to date. */

import { batch, computed, signal } from '@preact/signals';
import { ApiError } from '../api/provider';
import { isAbort } from '../lib/scheduling';
import type { Changes, Reading, ReadSoFar, RunEntry, RunList, Unread } from '../model/wire/answers';
import { api } from './provider';
import { askAgain } from './resource';
import { runEntry, runList } from './runs';

/** Polls for changes of the list of runs: each second while the page is visible, every 10 s while it is hidden. */
const VISIBLE_MS = 1000;
const HIDDEN_MS = 10_000;
const LOST_MS = 3000;

/** Why the server is unreachable or refuses; null while all is well. */
export const connectionError = signal<ApiError | null>(null);

/** Applies changes to the list. Null if the list must be reloaded: a run is new, or got its first step. */
export function applyChanges(list: RunList, changes: Changes): RunList | null {
  const known = new Set(list.runs.map((run) => run.id));
  for (const [id, change] of Object.entries(changes.runs)) if (change !== null && !known.has(id)) return null;
  const runs = list.runs.filter((run) => changes.runs[run.id] !== null).map((run) => changed(run, changes));
  return runs.some((run) => run === null) ? null : { ...list, cursor: changes.cursor, runs: runs as RunEntry[] };
}

function changed(run: RunEntry, changes: Changes): RunEntry | null {
  const change = changes.runs[run.id];
  if (!change) return run;
  if (run.steps.last === null && change.last_step !== null) return null;
  const { snapshots, graphs, last_step, live, closed } = change;
  return { ...run, snapshots, graphs, live, closed, news: (run.news ?? 0) + 1, steps: { ...run.steps, last: last_step } };
}

/** Reloads the list: changes only contain what charts need, but a visible list needs everything. */
export async function reloadRuns(): Promise<void> {
  try {
    runList.value = await api().runs();
  } catch (error) {
    failed(error);
  }
}

async function refresh(abort: AbortSignal): Promise<void> {
  const list = runList.value;
  if (list !== null) {
    const changes = await api().changes(list.cursor, abort);
    readSoFar(changes);
    if (Object.keys(changes.runs).length === 0) return;
    const next = applyChanges(list, changes);
    if (next !== null) {
      runList.value = next;
      return;
    }
  }
  runList.value = await api().runs(abort);
  readSoFar(runList.value);
}

function failed(error: unknown): void {
  if (isAbort(error)) return;
  connectionError.value = error instanceof ApiError ? error : new ApiError(0, String(error), 'Reload the page.');
}

/** Polls until stopped; when the page becomes visible, immediately. */
export function startPolling(): () => void {
  const abort = new AbortController();
  let timer = 0;
  const poll = async () => {
    clearTimeout(timer);
    try {
      await refresh(abort.signal);
      batch(() => {
        connectionError.value = null;
        askAgain();
      });
    } catch (error) {
      failed(error);
    }
    const pause = document.hidden ? HIDDEN_MS : connectionError.value ? LOST_MS : VISIBLE_MS;
    if (!abort.signal.aborted) timer = window.setTimeout(poll, pause);
  };
  const shown = () => {
    if (!document.hidden) void poll();
  };
  document.addEventListener('visibilitychange', shown);
  void poll();
  return () => {
    abort.abort();
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', shown);
  };
}

/** The runs that the server is still reading, by id: bytes of statistics read, and in all. Updated by state/live.ts. */
export const readings = signal<Record<string, Reading>>({});

/** The first folders that the server cannot read, and their number; updated like `readings`. */
const unread = signal<readonly Unread[]>([]);
export const unreadCount = signal(0);

/** The folders whose banner was dismissed; it appears again for others. */
const hiddenUnread = signal('');

/** The first of the folders; null if there is none, or the banner was dismissed. */
export const firstUnread = computed<Unread | null>(() => (namesOf(unread.value) === hiddenUnread.value ? null : (unread.value[0] ?? null)));

export function hideUnread(): void {
  hiddenUnread.value = namesOf(unread.value);
}

function namesOf(folders: readonly Unread[]): string {
  return folders.map(({ folder }) => folder).join('\n');
}

/** Stores the progress in an answer. */
export function readSoFar(progress: ReadSoFar): void {
  readings.value = progress.reading ?? {};
  unread.value = progress.unread ?? [];
  unreadCount.value = progress.unread_count ?? 0;
}

/** The run whose progress bar was dismissed; it appears again for another run. */
export const hiddenReading = signal<string | null>(null);

/** Reading progress of the current run; null when complete, or the bar was dismissed. */
export const reading = computed<Reading | null>(() => shownReading(runEntry.value?.id ?? null, readings.value, hiddenReading.value));

export function shownReading(run: string | null, all: Record<string, Reading>, hidden: string | null): Reading | null {
  return run === null || run === hidden ? null : (all[run] ?? null);
}

/** Whole percent, never 100 before the end. */
export function percent({ done, total }: Reading): number {
  return total > 0 ? Math.min(99, Math.floor((100 * done) / total)) : 0;
}
