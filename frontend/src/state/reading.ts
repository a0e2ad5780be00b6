import { computed, signal } from '@preact/signals';
import type { Reading, Unread } from '../model/answers';
import { runEntry } from './runs';

/** The runs that the server still reads, by id: bytes of statistics that were read, and that there are. Kept up to date by state/live.ts. */
export const readings = signal<Record<string, Reading>>({});

/** Folders that the server cannot look into; kept up to date as `readings` is. */
export const unread = signal<readonly Unread[]>([]);

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
