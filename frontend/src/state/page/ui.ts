/** What of the page is open; but for the enlarged panel none of it belongs in the address. */

import { computed, signal } from '@preact/signals';
import { severeCount } from '../problems/findings';
import { problemCount } from '../problems/problems';
import { chosenTensor, enlarged } from './choices';
import { panelOpen, problemsOpen, recentChoices } from './preferences';

/** The list of keys. */
export const helpOpen = signal(false);
/** On a zoomed page, or a phone, it would cover a third of the graph: there it begins closed. */
export const legendOpen = signal(Math.min(globalThis.innerHeight || 900, globalThis.innerWidth || 900) >= 600);

/** The node panel takes the whole width: as was asked for, while there is a node to show. */
export const panelMaximised = computed(() => enlarged.value && chosenTensor.value !== null);

export function maximisePanel(on: boolean): void {
  enlarged.value = on && chosenTensor.value !== null;
}

// With the node panel beside it, less would leave the graph half of the page.
const WIDE = window.matchMedia('(min-width: 1680px)');
const wide = signal(WIDE.matches);
WIDE.addEventListener('change', (event) => {
  wide.value = event.matches;
});

/**
 * The list of problems opens by itself where there are problems and room for a column of its own; after that the user's choice holds.
 * Where it is closed, the panel lists them as long as no node is selected.
 */
export const problemsShown = computed(() => problemsOpen.value ?? (wide.value && problemCount.value + severeCount.value > 0));

export function toggleProblems(): void {
  problemsOpen.value = !problemsShown.value;
}

export function togglePanel(): void {
  panelOpen.value = !panelOpen.value;
  maximisePanel(false);
}

export function toggleLegend(): void {
  legendOpen.value = !legendOpen.value;
}

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
