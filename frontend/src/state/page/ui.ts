/** Open parts of the page; only the enlarged panel is in the address. */

import { computed, signal } from '@preact/signals';
import { severeCount } from '../problems/findings';
import { problemCount } from '../problems/problems';
import { chosenTensor, enlarged } from './choices';
import { panelOpen, problemsOpen, recentChoices } from './preferences';

/** The list of keys. */
export const helpOpen = signal(false);
/** On a zoomed page, or a phone, it would cover a third of the graph: there it begins closed. */
export const legendOpen = signal(Math.min(globalThis.innerHeight || 900, globalThis.innerWidth || 900) >= 600);

/** Whether the node panel takes the whole width: on request, while a node is selected. */
export const panelMaximised = computed(() => enlarged.value && chosenTensor.value !== null);

export function maximisePanel(on: boolean): void {
  enlarged.value = on && chosenTensor.value !== null;
}

// Below this width, the node panel would leave less than half of the page to the graph.
const WIDE = window.matchMedia('(min-width: 1680px)');
const wide = signal(WIDE.matches);
WIDE.addEventListener('change', (event) => {
  wide.value = event.matches;
});

/**
 * The list of problems opens automatically if there are problems and room for a column; afterwards the user's choice counts. If it is
 * closed, the panel lists them while no node is selected.
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

/** Stores a choice as the most recent one. */
export function rememberChoice(group: string, id: string): void {
  const others = recentChoices.value.filter(([of, known]) => of !== group || known !== id);
  recentChoices.value = [[group, id] as const, ...others].slice(0, MOST_KEPT);
}
