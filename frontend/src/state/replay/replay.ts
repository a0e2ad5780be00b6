import { batch, computed, effect, signal } from '@preact/signals';
import { ApiError } from '../../api/provider';
import { Lru } from '../../lib/lru';
import type { Progress } from '../../model/wire/findings';
import { type Computed, ComputedStep, type RecordingEntry, type ReplayAnswer, recordingAt, recordingOf } from '../../model/wire/replay';
import { type Change, changesOf } from '../../model/wire/what_ifs';
import { chosenTensor, view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runEntry, runId, runRevision } from '../runs';
import { step } from '../steps';
import { shownWhatIfs } from './what_ifs';

/** Recorded steps of the current run, and the server's computations on them. */

const ASK_AGAIN_MS = 300;

export const recordings = resource(
  computed(() => {
    const run = runId.value;
    return run === null || runEntry.value === null ? null : { key: `${run} ${runRevision.value}`, subject: run, run };
  }),
  ({ run }, abort) => api().recordings(run, abort),
);

export const replayAllowed = computed(() => recordings.data.value?.allowed ?? false);

/** Steps with at least one recorded call, in order. */
export const recordedSteps = computed(() => [...new Set(recordings.data.value?.recordings.map((each) => each.step))]);

/** Null: the recording of the current step. */
export const chosenRecording = signal<string | null>(null);

export const recording = computed<RecordingEntry | null>(() => {
  const all = recordings.data.value?.recordings ?? [];
  return all.find((each) => each.id === chosenRecording.value) ?? recordingAt(all, step.value, graphId.value);
});

/** The recording of exactly the current step, and of the current graph if recorded; without a current step, the last one. */
export const recordingOfStep = computed<RecordingEntry | null>(() => {
  const all = recordings.data.value?.recordings ?? [];
  return (step.value === null ? recordingAt : recordingOf)(all, step.value, graphId.value);
});

effect(() => {
  if (runId.value !== null) chosenRecording.value = null;
});

/** The running computation, in words; null when idle. */
export const computing = signal<string | null>(null);
/** Its progress. */
export const computingProgress = signal<Progress>({ done: 0, total: 0, doing: '' });
let asks = 0;

/** Number of cached results: as many as the server stores. */
const MOST_KEPT = 16;

/** Cached steps by `keyOf`, tensors of steps by `tensorKey`; the most recent ones. */
const steps = signal<ReadonlyMap<string, ComputedStep>>(new Map());
const tensors = signal<ReadonlyMap<string, Computed>>(new Map());
/** The order of the nodes by `placeKey`, which answers to what-ifs omit. */
const orders = new Lru<string, readonly string[]>(MOST_KEPT);

const placeKey = (): string => JSON.stringify([runId.value, recording.value?.id]);

function keyOf(changes: readonly Change[]): string {
  return JSON.stringify([placeKey(), changes.map(({ tensor, expression }) => [tensor, expression])]);
}

/** The map with one more entry, without the oldest ones beyond the limit. */
function kept<T>(map: ReadonlyMap<string, T>, key: string, value: T): ReadonlyMap<string, T> {
  const others = [...map].filter(([other]) => other !== key);
  return new Map([...others.slice(-(MOST_KEPT - 1)), [key, value]]);
}

function tensorKey(tensor: string | null): string {
  return JSON.stringify([runId.value, step.value, tensor]);
}

/** The recorded step, recomputed; null until it is. */
export const recordedStep = computed(() => steps.value.get(keyOf([])) ?? null);

/** The step with some changes, if computed. */
export function computedStep(changes: readonly Change[]): ComputedStep | null {
  return steps.value.get(keyOf(changes)) ?? null;
}

/** The step with the current what-if's changes. */
export const shownStep = computed(() => computedStep(changesOf(shownWhatIfs.value)));

/** Computes all tensors of the recorded step with some changes; throws the server's errors. */
export async function computeStep(changes: readonly Change[], words: string): Promise<void> {
  const [key, place] = [keyOf(changes), placeKey()];
  const found = await ask(changes, null, words);
  const order = found.order.length > 0 ? found.order : (orders.get(place) ?? []);
  orders.set(place, order);
  steps.value = kept(steps.peek(), key, new ComputedStep(found, order));
}

/** Computes one tensor of the current step. */
export async function computeTensor(tensor: string): Promise<void> {
  const [at, key] = [recordingOfStep.peek(), tensorKey(tensor)];
  if (at === null) return;
  const found = await ask([], [tensor], `Computing ${tensor} of step ${at.step}`, at);
  tensors.value = kept(tensors.peek(), key, found);
}

function ask(
  changes: readonly Change[],
  wanted: readonly string[] | null,
  words: string,
  at: RecordingEntry | null = recording.peek(),
): Promise<Computed> {
  return askReplay(words, at, (run, { id }) => api().compute(run, id, changes, wanted));
}

/** Polls until there is an answer; `computing` shows these words meanwhile. Throws the server's errors. */
export async function askReplay<T>(
  words: string,
  at: RecordingEntry | null,
  send: (run: string, at: RecordingEntry) => Promise<ReplayAnswer<T>>,
): Promise<T> {
  const run = runId.peek();
  if (run === null || at === null) throw new ApiError(0, 'No step of this run was recorded.', 'Record steps: Tap(…, record=every(100)).');
  const mine = ++asks;
  computing.value = words;
  computingProgress.value = { done: 0, total: 0, doing: '' };
  try {
    for (;;) {
      const answer = await send(run, at);
      if (mine === asks) computingProgress.value = answer.progress;
      if (answer.result !== null) return answer.result;
      if (!answer.working) throw new ApiError(0, answer.error ?? 'No result was computed.', answer.hint);
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  } finally {
    if (mine === asks) computing.value = null;
  }
}

/** Cancels the running computation and informs its caller; on failure, `computing` says so. */
export async function cancelComputing(): Promise<void> {
  const [run, words] = [runId.peek(), computing.peek()];
  if (run === null) return;
  try {
    await api().cancelReplay(run);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (words !== null && computing.peek() === words) computing.value = `${words}; cancelling failed: ${why}`;
  }
}

/** Number of results that the server had dropped. */
export const recordingLosses = signal(0);

/** Drops a result that the server no longer has, if the error says so, and rethrows it. */
export async function watchForLoss<T>(run: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) forgetRun(run);
    throw error;
  }
}

const missed = new Set<string>();

/** Once for each: a repeated failure has another cause. */
function forgetRun(run: string): void {
  if (missed.has(run)) return;
  missed.add(run);
  const held = steps.peek().size + tensors.peek().size;
  batch(() => {
    steps.value = new Map([...steps.peek()].filter(([, each]) => each.data.run !== run));
    tensors.value = new Map([...tensors.peek()].filter(([, each]) => each.run !== run));
    if (steps.peek().size + tensors.peek().size < held) recordingLosses.value = recordingLosses.peek() + 1;
  });
}

/** Source of the selected tensor's numbers, if they were computed and not captured. */
interface ComputedPlace {
  readonly run: string;
  readonly graph: string;
  readonly step: number;
  /** The what-if, or null for the recorded step. */
  readonly whatIf: string | null;
  readonly computed: Computed;
}

export const computedPlace = computed<ComputedPlace | null>(() => {
  const tensor = chosenTensor.value;
  const stepper = view.value === 'stepper' ? shownStep.value : null;
  if (tensor === null || (view.value === 'stepper' && stepper?.tensor(tensor) == null)) return null;
  const found = stepper?.data ?? tensors.value.get(tensorKey(tensor));
  if (found === undefined) return null;
  const whatIf = stepper === null ? null : shownWhatIfs.value.current;
  return { run: found.run, graph: found.graph, step: found.step, whatIf, computed: found };
});

/** The statistics of the computed step, for marks on the graph. */
export const computedOverlay = resource(
  computed(() => {
    const data = view.value === 'stepper' ? shownStep.value?.data : undefined;
    return data === undefined ? null : { key: data.run, subject: data.run, data };
  }),
  ({ data }, abort) => watchForLoss(data.run, api().step(data.run, data.graph, data.step, null, abort)),
);

/** Drops the computed version of a tensor, to show the captured one. */
export function forgetTensor(tensor: string): void {
  batch(() => {
    const rest = new Map(tensors.peek());
    rest.delete(tensorKey(tensor));
    tensors.value = rest;
  });
}
