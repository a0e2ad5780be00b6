import { computed, signal } from '@preact/signals';
import { carried, fromSaved, NO_WHAT_IFS, type SavedWhatIfs, toSaved, type WhatIfs } from '../../model/wire/what_ifs';

/** What-ifs by the recorded step that they change: who goes to another step and back finds what was not saved yet. */

/** The what-ifs of the current recording. */
export const shownWhatIfs = signal<WhatIfs>(NO_WHAT_IFS);

/** As they were saved last, as text; null until the server said. */
const savedText = signal<string | null>(null);

const textOf = (whatIfs: WhatIfs): string => JSON.stringify(toSaved(whatIfs));

export const isSaved = computed(() => textOf(shownWhatIfs.value) === (savedText.value ?? '{}'));

interface Left {
  readonly whatIfs: WhatIfs;
  readonly saved: string | null;
}

const left = new Map<string, Left>();
let opened: string | null = null;

/** The run and recording that `shownWhatIfs` belong to; null for none yet. */
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

/** Takes what the server has saved, and puts behind it what was made here and is not saved. */
export function takeSaved(saved: SavedWhatIfs): void {
  const now = shownWhatIfs.peek();
  const own = isSaved.peek()
    ? []
    : now.all.filter(({ name, made }) => textOf({ current: null, all: [{ name, made, undone: [] }] }) !== savedAs(saved, name));
  savedText.value = JSON.stringify(saved);
  shownWhatIfs.value = carried(NO_WHAT_IFS, { current: now.current, all: own }, fromSaved(saved));
}

const savedAs = (saved: SavedWhatIfs, name: string): string => JSON.stringify({ [name]: saved[name] });

/** Takes note of what was saved of a recording, whether or not it is still shown. */
export function noteSaved(subject: string | null, saved: SavedWhatIfs): void {
  const text = JSON.stringify(saved);
  const found = subject === null ? undefined : left.get(subject);
  if (subject === opened) savedText.value = text;
  else if (subject !== null && found) left.set(subject, { ...found, saved: text });
}
