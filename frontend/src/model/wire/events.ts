import type { RunEvent } from './answers';
import { toNumber } from './statistics';

/** Triggers and watches in a run's events. Their facts come from the dump, so nothing about them is trusted. */

export type SampleKind = 'files' | 'ids';

/** State of an input of the triggering node; null if it was not captured. */
export interface TriggerInput {
  tensor: string;
  nan: number | null;
  inf: number | null;
  min: number | null;
  max: number | null;
}

export interface Trigger {
  step: number;
  time: number;
  worker: string;
  /** As passed by the user: `NonFinite()`. */
  trigger: string;
  reason: string;
  tensor: string | null;
  node: string | null;
  opType: string;
  graph: string | null;
  source: { file: string; line: number; function: string } | null;
  inputs: TriggerInput[];
  /** The first step whose snapshots the flight recorder wrote. */
  firstStep: number | null;
  stops: boolean;
}

/** What is captured from a step on, or why a watch.json was refused. */
export interface WatchChange {
  step: number | null;
  time: number;
  text: string;
  error: string | null;
  fromProgram: boolean;
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const measured = (value: unknown): number | null =>
  typeof value === 'number' || value === 'NaN' || value === 'Infinity' || value === '-Infinity' ? toNumber(value) : null;
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Triggers that fired, by step. */
export function triggersOf(events: readonly RunEvent[]): Trigger[] {
  const found = events.flatMap((event) => (event.kind === 'trigger' && event.step !== null ? [readTrigger(event, event.step)] : []));
  return found.sort((a, b) => a.step - b.step || a.time - b.time);
}

function readTrigger({ time, worker, facts }: RunEvent, step: number): Trigger {
  const first = number(facts.first_step);
  return {
    step,
    time,
    worker,
    trigger: text(facts.trigger) ?? 'a trigger',
    reason: text(facts.reason) ?? '',
    tensor: text(facts.tensor),
    node: text(facts.node),
    opType: text(facts.op_type) ?? '',
    graph: text(facts.graph),
    source: readSource(facts.source),
    inputs: Array.isArray(facts.inputs) ? facts.inputs.flatMap(readInput) : [],
    firstStep: first !== null && first < step ? first : null,
    stops: facts.stops === true,
  };
}

function readSource(source: unknown): Trigger['source'] {
  if (!Array.isArray(source)) return null;
  const [file, line, name] = source as unknown[];
  return typeof file === 'string' && typeof line === 'number' ? { file, line, function: text(name) ?? '' } : null;
}

function readInput(input: unknown): TriggerInput[] {
  if (typeof input !== 'object' || input === null) return [];
  const { tensor, nan, inf, min, max } = input as Record<string, unknown>;
  if (typeof tensor !== 'string') return [];
  return [{ tensor, nan: number(nan), inf: number(inf), min: measured(min), max: measured(max) }];
}

export function watchesOf(events: readonly RunEvent[]): WatchChange[] {
  return events.flatMap(({ kind, step, time, facts }) => {
    const error = text(facts.error);
    if (kind !== 'watch') return [];
    return [{ step, time, text: text(facts.text) ?? '', error, fromProgram: facts.source === 'program' }];
  });
}

/** Consecutive steps as ranges: [3, 4, 5, 9] -> 3–5, 9. */
export function stepRuns(steps: readonly number[]): { first: number; last: number }[] {
  const runs: { first: number; last: number }[] = [];
  for (const step of steps) {
    const last = runs[runs.length - 1];
    if (last && step === last.last + 1) last.last = step;
    else runs.push({ first: step, last: step });
  }
  return runs;
}

/** Number of samples per file of a batch, most first; samples without a recorded file are skipped. */
export function samplesByFile(files: readonly string[]): { file: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(file, (counts.get(file) ?? 0) + 1);
  return [...counts].map(([file, count]) => ({ file, count })).sort((a, b) => b.count - a.count || (a.file < b.file ? -1 : 1));
}
