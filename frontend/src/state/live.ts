/** Keeps the list of runs up to date, and how far the server has read them. */

import { batch, computed, signal } from '@preact/signals';
import { ApiError } from '../api/provider';
import { isAbort } from '../lib/scheduling';
import type { Changes, Reading, ReadSoFar, RunEntry, RunList, Unread } from '../model/wire/answers';
import { api } from './provider';
import { askAgain } from './resource';
import { runEntry, runList } from './runs';

/** Keeps the list of runs up to date by asking what changed: each second while the page is visible, every 10 s while it is hidden. */
const VISIBLE_MS = 1000;
const HIDDEN_MS = 10_000;
const LOST_MS = 3000;

/** Why the server cannot be reached or refuses; null while all is well. */
export const connectionError = signal<ApiError | null>(null);

/** Applies changes to the list. Null when the list must be loaded anew: a run is new, or gained its first step. */
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

/** Loads the list anew: changes carry only what charts need, a list of runs shown wants all of it. */
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

/** Polls until it is stopped; becoming visible asks at once. */
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

/** The runs that the server still reads, by id: bytes of statistics that were read, and that there are. Kept up to date by state/live.ts. */
export const readings = signal<Record<string, Reading>>({});

/** The first folders that the server cannot look into, and how many there are; kept up to date as `readings` is. */
const unread = signal<readonly Unread[]>([]);
export const unreadCount = signal(0);

/** The folders whose banner was put away; it comes back for others. */
const hiddenUnread = signal('');

/** The first of the folders; null where there is none, or the banner was put away. */
export const firstUnread = computed<Unread | null>(() => (namesOf(unread.value) === hiddenUnread.value ? null : (unread.value[0] ?? null)));

export function hideUnread(): void {
  hiddenUnread.value = namesOf(unread.value);
}

function namesOf(folders: readonly Unread[]): string {
  return folders.map(({ folder }) => folder).join('\n');
}

/** Takes over what an answer tells of it. */
export function readSoFar(progress: ReadSoFar): void {
  readings.value = progress.reading ?? {};
  unread.value = progress.unread ?? [];
  unreadCount.value = progress.unread_count ?? 0;
}

/** The run whose bar was put away; it comes back for another run. */
export const hiddenReading = signal<string | null>(null);

/** How far the current run was read; null once all of it was, or the bar was dismissed. */
export const reading = computed<Reading | null>(() => shownReading(runEntry.value?.id ?? null, readings.value, hiddenReading.value));

export function shownReading(run: string | null, all: Record<string, Reading>, hidden: string | null): Reading | null {
  return run === null || run === hidden ? null : (all[run] ?? null);
}

/** Whole percent, never 100 before it is done. */
export function percent({ done, total }: Reading): number {
  return total > 0 ? Math.min(99, Math.floor((100 * done) / total)) : 0;
}
