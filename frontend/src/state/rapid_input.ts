import { signal } from '@preact/signals';

/** A held key repeats some 30 times a second; after so long without one it was let go. */
const REST_MS = 150;

/** Whether a held key flies along a list, or something is being typed: what it only passes is asked for now and then, and is no place that the address holds. */
export const isRapidInput = signal(false);

let rest: ReturnType<typeof setTimeout> | undefined;

/** A key has repeated, or one more letter was typed. */
export function noteRapidInput(): void {
  isRapidInput.value = true;
  clearTimeout(rest);
  rest = setTimeout(() => {
    isRapidInput.value = false;
  }, REST_MS);
}
