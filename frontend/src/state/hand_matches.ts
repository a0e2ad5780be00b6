import { computed, signal } from '@preact/signals';
import { type Pairs, pairsOf } from '../model/hand_matches';
import { otherRun } from './choices';
import { runId, runs } from './runs';

/** Pairs made by hand, kept by this browser for each two runs; the file that is downloaded is for everybody else. */
const PREFIX = 'tensortap.matches.';
const MOST_UNDONE = 100;

/** Run B: the chosen one, else the newest that is not A. */
export const otherRunId = computed<string | null>(() => {
  const known = runs.value.find((run) => run.id === otherRun.value);
  return (known ?? runs.value.find((run) => run.id !== runId.value))?.id ?? null;
});

const subject = computed(() => `${runId.value} ${otherRunId.value}`);
const changed = signal(0);
const before = signal<readonly { subject: string; pairs: Pairs }[]>([]);

export const handPairs = computed<Pairs>(() => {
  changed.value;
  return load(subject.value);
});

export const canUndo = computed(() => before.value.some((entry) => entry.subject === subject.value));

export function setPairs(pairs: Pairs): void {
  before.value = [...before.value, { subject: subject.value, pairs: handPairs.value }].slice(-MOST_UNDONE);
  keep(subject.value, pairs);
}

/** Takes back the last change to the pairs of these two runs. */
export function undoPairs(): void {
  const at = before.value.map((entry) => entry.subject).lastIndexOf(subject.value);
  const entry = before.value[at];
  if (!entry) return;
  before.value = before.value.filter((_, i) => i !== at);
  keep(entry.subject, entry.pairs);
}

/** What storage refuses lasts as long as the page. */
const unkept = new Map<string, Pairs>();

function load(of: string): Pairs {
  const held = unkept.get(of);
  if (held) return held;
  try {
    return pairsOf(JSON.parse(localStorage.getItem(PREFIX + of) ?? '{}')) ?? {};
  } catch {
    return {};
  }
}

function keep(of: string, pairs: Pairs): void {
  unkept.set(of, pairs);
  try {
    if (Object.keys(pairs).length === 0) localStorage.removeItem(PREFIX + of);
    else localStorage.setItem(PREFIX + of, JSON.stringify(pairs));
  } catch {
    // Private windows and some iframes refuse storage.
  }
  changed.value += 1;
}
