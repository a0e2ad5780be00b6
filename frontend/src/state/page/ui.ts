/** Open parts of the page; only the enlarged panel is in the address. */

import { computed, signal } from '@preact/signals';
import { severeCount } from '../problems/findings';
import { problemCount } from '../problems/problems';
import { chosenLayer, chosenScope, chosenTensor, enlarged } from './choices';
import { panelOpen, problemsOpen, recentChoices, runPanelOpen } from './preferences';

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

/** The panel of the run can be closed alone: that of a node opens when one is selected. */
export const panelShown = computed(() => {
  const selected = chosenTensor.value ?? chosenScope.value ?? chosenLayer.value;
  return panelOpen.value && (runPanelOpen.value || selected !== null);
});

export function togglePanel(): void {
  const open = !panelShown.value;
  panelOpen.value = open;
  if (open) runPanelOpen.value = true;
  maximisePanel(false);
}

export function closeRunPanel(): void {
  runPanelOpen.value = false;
}

export function toggleLegend(): void {
  legendOpen.value = !legendOpen.value;
}

/** Whether the command palette is open. */
export const paletteOpen = signal(false);

/** What was typed into the palette while its code was being loaded. */
export const typedAhead = signal('');

export function togglePalette(): void {
  typedAhead.value = '';
  paletteOpen.value = !paletteOpen.value;
}

const MOST_KEPT = 30;

/** Stores a choice as the most recent one. */
export function rememberChoice(group: string, id: string): void {
  const others = recentChoices.value.filter(([of, known]) => of !== group || known !== id);
  recentChoices.value = [[group, id] as const, ...others].slice(0, MOST_KEPT);
}
