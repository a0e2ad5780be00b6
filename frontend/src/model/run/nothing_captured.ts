/** What a run without snapshots still reports. */

import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { RunDetail, RunEvent } from '../wire/answers';
import type { WatchChange } from '../wire/events';

/** The last active watches: a watch.json overrides those of the program. */
export function watchedBy(run: RunDetail, changes: readonly WatchChange[]): string[] {
  const taken = changes.filter((change) => change.error === null && change.text !== '');
  const last = taken[taken.length - 1];
  if (last) return [last.text];
  const given = run.info.watch;
  return Array.isArray(given) ? given.filter((watch): watch is string => typeof watch === 'string') : [];
}

/** Warnings of the program about what could not be captured, each with its fix. */
export function unseenOf(events: readonly RunEvent[]): string[] {
  const texts = events.flatMap(({ kind, facts }) => (kind === 'unseen' && typeof facts.text === 'string' ? [facts.text] : []));
  return [...new Set(texts)].filter((text) => text !== '');
}

/** The last steps that ended in an error of the program, one sentence each. */
export function raisedOf(events: readonly RunEvent[]): string[] {
  const found = events.flatMap(({ kind, step, facts }) => {
    if (kind !== 'raised' || typeof facts.error !== 'string') return [];
    return [visible(`Step ${step ?? '?'} raised${typeof facts.node === 'string' ? ` in ${facts.node}` : ''}: ${facts.error}`)];
  });
  return found.slice(-5);
}

/** What was recorded and what Replay does with it, as the texts around that link; null if no step was recorded. */
export function recordedWords(steps: readonly number[], allowed: boolean): { recorded: string; stepper: string } | null {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined) return null;
  const one = steps.length === 1;
  return {
    recorded: one ? `Step ${first} was recorded` : `${counted(steps.length, 'step')} were recorded (${first} … ${last})`,
    stepper: allowed ? `can compute any tensor of ${one ? 'it' : 'them'}` : `explains how to replay ${one ? 'it' : 'them'}`,
  };
}

/** `run` -> `run-2` -> `run-3`: the first unused name. */
export function nextRunName(name: string, taken: readonly string[]): string {
  const stem = name.replace(/-\d+$/, '');
  let number = Number(/-(\d{1,6})$/.exec(name)?.[1] ?? 1);
  do number++;
  while (taken.includes(`${stem}-${number}`));
  return `${stem}-${number}`;
}
