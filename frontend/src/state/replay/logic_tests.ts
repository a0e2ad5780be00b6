import { computed, signal } from '@preact/signals';
import { Lru } from '../../lib/lru';
import type { LogicResult } from '../../model/wire/replay';
import { api } from '../provider';
import { runId } from '../runs';
import { askReplay, recording } from './replay';
import { errorOf, type ReplayError } from './replay_cursor';

/** Results of the tests of the recorded step's logic, until the page is closed. */

/** Result of a test, or why it has none. */
interface LogicOutcome {
  readonly test: string;
  readonly result: LogicResult | null;
  readonly error: ReplayError | null;
}

const MOST_KEPT = 32;
const outcomes = new Lru<string, LogicOutcome>(MOST_KEPT);
const revision = signal(0);
/** The last requested test of each recorded step. */
const last = new Lru<string, string>(MOST_KEPT);

const placeKey = (): string => JSON.stringify([runId.value, recording.value?.id]);

/** Result of the displayed test; null before there is one. */
export const shownOutcome = computed<LogicOutcome | null>(() => {
  revision.value;
  const [place, test] = [placeKey(), last.get(placeKey())];
  return test === undefined ? null : (outcomes.get(`${place} ${test}`) ?? null);
});

/** Whether a test of the current step passed; null if unknown. */
export function hasPassed(test: string): boolean | null {
  revision.value;
  return outcomes.get(`${placeKey()} ${test}`)?.result?.passed ?? null;
}

/** Runs a test, or shows its previous result. */
export async function testLogic(test: string): Promise<void> {
  const place = placeKey();
  const note = (outcome: LogicOutcome) => {
    outcomes.set(`${place} ${test}`, outcome);
    last.set(place, test);
    revision.value++;
  };
  const known = outcomes.get(`${place} ${test}`);
  if (known?.result) return note(known);
  try {
    const result = await askReplay(`Testing: ${test}`, recording.peek(), (run, { id }) => api().testLogic(run, id, test));
    note({ test, result, error: null });
  } catch (error) {
    note({ test, result: null, error: errorOf(error) });
  }
}
