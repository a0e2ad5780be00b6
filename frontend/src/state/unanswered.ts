import { batch } from '@preact/signals';
import { NoAnswer } from '../api/provider';

/** What nobody answered, as ways to ask again. */
const waiting = new Set<() => void>();

/** Notes how a request went: one without an answer is made again, by `again`, as soon as the server answers others. */
export function noteAnswer(error: Error | null, again: () => void): void {
  if (error instanceof NoAnswer) waiting.add(again);
  else waiting.delete(again);
}

/** The server answers: what waits for it is asked again. */
export function askAgain(): void {
  const all = [...waiting];
  waiting.clear();
  batch(() => {
    for (const again of all) again();
  });
}
