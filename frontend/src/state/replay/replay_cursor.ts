import { computed, effect, signal, untracked } from '@preact/signals';
import { ApiError } from '../../api/provider';
import { isAbort } from '../../lib/scheduling';
import { type ColourBy, rowOf } from '../../model/wire/graph';
import { parseTensorName, tensorName } from '../../model/wire/names';
import { type ComputedStep, changesByRow } from '../../model/wire/replay';
import { begin, type Change, carried, changesOf, drop, redo, toSaved, undo, type WhatIfs, withChange } from '../../model/wire/what_ifs';
import { graph } from '../graph/graph';
import { graphLayers } from '../graph/layers';
import { chosenTensor, view } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { runId } from '../runs';
import { chooseGraph, selectedNode, selectTensor } from '../selection';
import { computedStep, computeStep, recordedStep, recording, recordingLosses, replayAllowed, shownStep, watchForLoss } from './replay';
import { noteSaved, openedSubject, openWhatIfs, shownWhatIfs, takeSaved } from './what_ifs';

/** Replay: a cursor on the nodes of a recorded step, which is the page's selection, and its what-ifs. */

export interface ReplayError {
  readonly message: string;
  readonly hint: string;
}

/** Why the recorded step could not be computed; why the last change failed. */
export const stepError = signal<ReplayError | null>(null);
export const changeError = signal<ReplayError | null>(null);
/** Text of the box that changes the selected tensor. */
export const draft = signal('');
export const errorOf = (error: unknown): ReplayError => ({
  message: error instanceof Error ? error.message : String(error),
  hint: error instanceof ApiError ? error.hint : '',
});

/** Another recording has other what-ifs; its step is computed at once. */
const subject = computed(() => {
  const [run, at] = [runId.value, recording.value];
  if (view.value !== 'stepper' || !replayAllowed.value || run === null || at === null) return null;
  return JSON.stringify([run, at.id]);
});

effect(() => {
  const wanted = subject.value;
  if (wanted === null || wanted === openedSubject()) return;
  untracked(() => openWhatIfs(wanted));
  queueMicrotask(() => void open(wanted));
});

/** Whether Replay still shows the subject of an answer. */
const isOpen = (asked: string | null): boolean => openedSubject() === asked;

async function open(asked: string): Promise<void> {
  const [run, at] = [runId.peek(), recording.peek()];
  if (run === null || at === null || !isOpen(asked)) return;
  changeError.value = null;
  await recompute();
  if (!isOpen(asked)) return;
  try {
    const saved = await api().whatIfs(run, at.id);
    if (isOpen(asked)) takeSaved(saved);
  } catch (error) {
    if (isOpen(asked)) changeError.value = errorOf(error);
  }
}

/** Computes the recorded step. */
export async function recompute(): Promise<void> {
  const asked = openedSubject();
  stepError.value = null;
  try {
    await computeStep([], 'Replaying step');
    if (isOpen(asked)) showRecorded();
  } catch (error) {
    if (isOpen(asked)) stepError.value = errorOf(error);
  }
}

function showRecorded(): void {
  const shown = recordedStep.peek();
  if (shown === null) return;
  chooseGraph(shown.data.graph);
  if (cursor.peek() >= 0) return;
  const origin = shown.next(-1, 1, (node) => shown.isOrigin(node));
  moveTo(Math.max(0, origin >= 0 ? origin : shown.next(-1, 1, (node) => shown.tensor(tensorName(node, 0)) !== null)));
}

/** Recomputes a visible result that the server has dropped. */
effect(() => {
  if (recordingLosses.value > 0) queueMicrotask(() => void computeAgain());
});

async function computeAgain(): Promise<void> {
  if (subject.peek() === null || !isOpen(subject.peek()) || shownStep.peek() !== null) return;
  if (changesOf(shownWhatIfs.peek()).length === 0) await recompute();
  else await become((whatIfs) => whatIfs);
}

/** Position of the selected node in the order, or -1. */
export const cursor = computed(() => (selectedNode.value === null ? -1 : (shownStep.value?.placeOf(selectedNode.value) ?? -1)));

export function moveTo(place: number): void {
  const node = shownStep.peek()?.order[place];
  if (node !== undefined) selectTensor(tensorName(node, 0));
}

export function moveBy(offset: number): void {
  const count = shownStep.peek()?.order.length ?? 0;
  moveTo(Math.max(0, Math.min(count - 1, cursor.peek() + offset)));
}

/** Target of a move: a node that creates NaN or Inf, outputs one, or was changed by the what-if. */
type MoveTarget = 'origin' | 'bad' | 'changed';

const FITS: Readonly<Record<MoveTarget, (shown: ComputedStep, node: string) => boolean>> = {
  origin: (shown, node) => shown.isOrigin(node),
  bad: (shown, node) => shown.isBad(node),
  changed: (shown, node) => shown.changedNodes.has(node),
};

/** Moves to the next such node; false if there is none. */
export function moveToNext(what: MoveTarget, offset: 1 | -1): boolean {
  const shown = shownStep.peek();
  if (shown === null) return false;
  const place = shown.next(cursor.peek(), offset, (node) => FITS[what](shown, node));
  if (place >= 0) moveTo(place);
  return place >= 0;
}

export function moveOut(): void {
  const shown = shownStep.peek();
  if (shown !== null) moveTo(shown.out(cursor.peek()));
}

/** Makes a change after the server has computed everything downstream. */
export async function makeChange(change: Change): Promise<void> {
  await become((whatIfs) => withChange(whatIfs, change));
}

/** Whether the text of the box is the last change, or the one undone last. */
export function isDraftApplied(): boolean {
  const { current, all } = shownWhatIfs.peek();
  const { made = [], undone = [] } = all.find(({ name }) => name === current) ?? {};
  return [made.at(-1), undone.at(-1)].some((change) => change?.expression === draft.peek().trim());
}

export async function undoChange(): Promise<void> {
  await become(undo);
}

export async function redoChange(): Promise<void> {
  await become(redo);
}

export async function chooseWhatIf(name: string | null): Promise<void> {
  await become((whatIfs) => ({ ...whatIfs, current: name }));
}

export function beginWhatIf(name?: string): void {
  shownWhatIfs.value = name === undefined || name === '' ? begin(shownWhatIfs.peek()) : begin(shownWhatIfs.peek(), name);
}

export function dropWhatIf(name: string): void {
  shownWhatIfs.value = drop(shownWhatIfs.peek(), name);
}

/** Shows other what-ifs of the step once they are computed; an answer that comes when another step is shown is of no use. */
async function become(make: (whatIfs: WhatIfs) => WhatIfs): Promise<void> {
  const [asked, before] = [openedSubject(), shownWhatIfs.peek()];
  const next = make(before);
  changeError.value = null;
  try {
    const changes = changesOf(next);
    if (computedStep(changes) === null) await computeStep(changes, 'Recomputing downstream tensors');
    if (isOpen(asked)) shownWhatIfs.value = carried(before, next, shownWhatIfs.peek());
  } catch (error) {
    if (isOpen(asked)) changeError.value = errorOf(error);
  }
}

export async function saveWhatIfs(): Promise<void> {
  const [run, at, asked] = [runId.peek(), recording.peek(), openedSubject()];
  if (run === null || at === null) return;
  try {
    noteSaved(asked, await api().whatIfs(run, at.id, toSaved(shownWhatIfs.peek())));
    if (isOpen(asked)) changeError.value = null;
  } catch (error) {
    if (isOpen(asked)) changeError.value = errorOf(error);
  }
}

/** Colouring of the graph in Replay: the part changed by the what-if. */
export const replayColour = computed<ColourBy>(() => {
  const [data, shown] = [graph.data.value, shownStep.value];
  if (data === null || shown === null) return { kind: 'health' };
  const overridden = new Set(changesOf(shownWhatIfs.value).map(({ tensor }) => parseTensorName(tensor).node));
  if (overridden.size === 0) return { kind: 'health' };
  return { kind: 'changed', verdicts: changesByRow(data, shown, overridden) };
});

/** A tensor in the recorded step and in each computed what-if. */
function columnsRequest(tensor: string) {
  if (view.value !== 'stepper') return null;
  const names = [null, ...shownWhatIfs.value.all.map((each) => each.name)];
  const columns = names.map((name) => ({ name, shown: computedStep(changesOf(shownWhatIfs.value, name)) }));
  const key = JSON.stringify([tensor, columns.map(({ name, shown }) => [name, shown?.data.run])]);
  return { key, subject: tensor, tensor, columns };
}

/** The selected tensor in the recorded step and in each computed what-if. */
export const sideBySide = resource(
  computed(() => {
    const tensor = chosenTensor.value;
    return tensor === null ? null : columnsRequest(tensor);
  }),
  async ({ tensor, columns }, abort) => Promise.all(columns.map((column) => columnOf(tensor, column, abort))),
);

/** The loss tensor of the current graph; null if unknown. */
const lossTensor = computed(() => {
  const found = graphLayers.data.value;
  if (found === null || found.graph !== graph.data.value) return null;
  const loss = found.layers.cards.find(({ kind }) => kind === 'loss')?.output;
  return loss === undefined ? null : tensorName(found.graph.names.at(loss.row), loss.slot);
});

/** The loss in the recorded step and in each computed what-if, by name. */
export const lossesSideBySide = resource(
  computed(() => (lossTensor.value === null ? null : columnsRequest(lossTensor.value))),
  async ({ tensor, columns }, abort) => {
    const rows = await Promise.all(columns.map((column) => columnOf(tensor, column, abort)));
    return new Map(rows.flatMap(({ name, row }) => (row === null ? [] : [[name, row.mean] as const])));
  },
);

/** Why the loss of the current what-if is not finite: the first node that creates a NaN or Inf all the same, and how many do. */
export const remainingOrigins = computed(() => {
  const [{ current }, shown, data] = [shownWhatIfs.value, shownStep.value, graph.data.value];
  if (current === null || shown === null || data === null) return null;
  if (Number.isFinite(lossesSideBySide.data.value?.get(current) ?? 0)) return null;
  const place = shown.next(-1, 1, (node) => shown.isOrigin(node));
  const node = shown.order[place];
  if (node === undefined) return null;
  const changes = changesOf(shownWhatIfs.value);
  if (changes.length === 0) return null;
  const isChanged = changes.some(({ tensor }) => parseTensorName(tensor).node === node);
  const isRead = READS.test(data.opTypes.at(rowOf(data, node)) ?? '');
  return { place, node, count: shown.originCount, advice: isChanged ? 'changed' : isRead ? 'read' : 'computed' } as const;
});

/** Ops that forward values from before the step. */
const READS = /^(?:ReadVariableOp|ResourceGather|VariableV2|Placeholder)/;

interface Column {
  readonly name: string | null;
  readonly shown: ComputedStep | null;
}

/** A dropped result does not affect the others. */
async function columnOf(tensor: string, { name, shown }: Column, abort: AbortSignal) {
  if (shown === null || shown.tensor(tensor) === null) return { name, shown, row: null };
  try {
    const page = await watchForLoss(shown.data.run, api().snapshots(shown.data.run, { tensor, limit: 1 }, abort));
    return { name, shown, row: page.rows[0] ?? null };
  } catch (error) {
    if (isAbort(error)) throw error;
    return { name, shown, row: null };
  }
}
