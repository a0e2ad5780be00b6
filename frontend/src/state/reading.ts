import { computed, signal } from '@preact/signals';
import type { Reading, ReadSoFar, Unread } from '../model/wire/answers';
import { runEntry } from './runs';

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
export function readSoFar(told: ReadSoFar): void {
  readings.value = told.reading ?? {};
  unread.value = told.unread ?? [];
  unreadCount.value = told.unread_count ?? 0;
}

/** The run whose bar was put away; it comes back for another run. */
export const hiddenReading = signal<string | null>(null);

/** How far the run on show was read; null once all of it was, or the bar was put away. */
export const reading = computed<Reading | null>(() => shownReading(runEntry.value?.id ?? null, readings.value, hiddenReading.value));

export function shownReading(run: string | null, all: Record<string, Reading>, hidden: string | null): Reading | null {
  return run === null || run === hidden ? null : (all[run] ?? null);
}

/** Whole percent, never 100 before it is done. */
export function percent({ done, total }: Reading): number {
  return total > 0 ? Math.min(99, Math.floor((100 * done) / total)) : 0;
}
