import { computed, signal } from '@preact/signals';
import { carried, fromSaved, NO_WHAT_IFS, type SavedWhatIfs, toSaved, type WhatIfs } from '../../model/wire/what_ifs';

/** What-ifs per recorded step, so that unsaved ones survive a visit to another step. */

/** The what-ifs of the current recording. */
export const shownWhatIfs = signal<WhatIfs>(NO_WHAT_IFS);

/** As last saved, as text; null until the server has answered. */
const savedText = signal<string | null>(null);

const textOf = (whatIfs: WhatIfs): string => JSON.stringify(toSaved(whatIfs));

export const isSaved = computed(() => textOf(shownWhatIfs.value) === (savedText.value ?? '{}'));

interface Left {
  readonly whatIfs: WhatIfs;
  readonly saved: string | null;
}

const left = new Map<string, Left>();
let opened: string | null = null;

/** The run and recording of `shownWhatIfs`; null for none yet. */
export const openedSubject = (): string | null => opened;

/** Shows the what-ifs of another recording, as they were left. */
export function openWhatIfs(subject: string): void {
  if (opened !== null) left.set(opened, { whatIfs: shownWhatIfs.peek(), saved: savedText.peek() });
  const found = left.get(subject);
  left.delete(subject);
  opened = subject;
  shownWhatIfs.value = found?.whatIfs ?? NO_WHAT_IFS;
  savedText.value = found?.saved ?? null;
}

/** Merges the server's what-ifs with unsaved ones, which come last. */
export function takeSaved(saved: SavedWhatIfs): void {
  const now = shownWhatIfs.peek();
  const own = isSaved.peek()
    ? []
    : now.all.filter(({ name, made }) => textOf({ current: null, all: [{ name, made, undone: [] }] }) !== savedAs(saved, name));
  savedText.value = JSON.stringify(saved);
  shownWhatIfs.value = carried(NO_WHAT_IFS, { current: now.current, all: own }, fromSaved(saved));
}

const savedAs = (saved: SavedWhatIfs, name: string): string => JSON.stringify({ [name]: saved[name] });

/** Notes what was saved for a recording, even if another one is shown. */
export function noteSaved(subject: string | null, saved: SavedWhatIfs): void {
  const text = JSON.stringify(saved);
  const found = subject === null ? undefined : left.get(subject);
  if (subject === opened) savedText.value = text;
  else if (subject !== null && found) left.set(subject, { ...found, saved: text });
}
