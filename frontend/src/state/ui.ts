import { computed, signal } from '@preact/signals';
import { severeCount } from './findings';
import { panelOpen, problemsOpen } from './preferences';
import { problemCount } from './problems';

/** What of the page is open; none of it belongs in the address. */
export const helpOpen = signal(false);

/** The node panel takes the whole width. */
export const panelMaximised = signal(false);

const WIDE = window.matchMedia('(min-width: 1280px)');
const wide = signal(WIDE.matches);
WIDE.addEventListener('change', (event) => {
  wide.value = event.matches;
});

/** The list of problems opens by itself where there are problems and room for it; after that the user's choice holds. */
export const problemsShown = computed(() => problemsOpen.value ?? (wide.value && problemCount.value + severeCount.value > 0));

export function toggleProblems(): void {
  problemsOpen.value = !problemsShown.value;
}

export function togglePanel(): void {
  panelOpen.value = !panelOpen.value;
  panelMaximised.value = false;
}
