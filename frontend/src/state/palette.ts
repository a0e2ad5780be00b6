import { signal } from '@preact/signals';
import { recentChoices } from './preferences';

/** Whether the command palette is open. */
export const paletteOpen = signal(false);

export function togglePalette(): void {
  paletteOpen.value = !paletteOpen.value;
}

const MOST_KEPT = 30;

/** Remembers what was chosen; the last comes first. */
export function rememberChoice(group: string, id: string): void {
  const others = recentChoices.value.filter(([of, known]) => of !== group || known !== id);
  recentChoices.value = [[group, id] as const, ...others].slice(0, MOST_KEPT);
}
