import { computed, effect, signal, untracked } from '@preact/signals';
import type { SnapshotKey } from '../../api/api';
import {
  assignIndex,
  type DimMapping,
  defaultMapping,
  defaultMode,
  fits,
  LAYOUT_OF,
  type Layout,
  shownBy,
  toSelection,
  type ValueMode,
} from '../../model/value/dims';
import { tensorFile } from '../../model/value/export_names';
import { keptPart } from '../../model/value/sample';
import { planSlice, Slice } from '../../model/value/slice';
import type { Snapshot } from '../../model/wire/answers';
import { snapshot, visits } from '../graph/node';
import { chosenMappings, chosenMode, chosenTensor, panelTab } from '../page/choices';
import { api } from '../provider';
import { computedPlace } from '../replay/replay';
import { resource } from '../resource';
import { graphId, runId, workerId } from '../runs';

/** The current value: its snapshot, the layout of its dimensions, and the fetched part. */

/** Requirements of each view: number of dimensions, and whether it needs numbers. */
const NEEDS: Record<ValueMode, { rank: number; numeric: boolean }> = {
  table: { rank: 0, numeric: false },
  heatmap: { rank: 2, numeric: true },
  line: { rank: 1, numeric: true },
  image: { rank: 2, numeric: true },
  histogram: { rank: 1, numeric: true },
};

export function supports(mode: ValueMode, row: Snapshot): boolean {
  const { rank, numeric } = NEEDS[mode];
  return row.shape.length >= rank && !(numeric && row.dtype === 'string');
}

/** The shape of the stored value: a sample has one dimension. */
export const keptRow = computed<Snapshot | null>(() => (snapshot.value === null ? null : keptPart(snapshot.value)));

/** The active view: the chosen one if the tensor supports it, else the default for the tensor. */
export const valueMode = computed<ValueMode>(() => {
  const row = keptRow.value;
  if (row === null) return chosenMode.value ?? 'table';
  return chosenMode.value !== null && supports(chosenMode.value, row) ? chosenMode.value : defaultMode(row.shape, row.dtype);
});

const layout = computed<Layout>(() => LAYOUT_OF[valueMode.value]);

const shape = computed<readonly number[]>(() => keptRow.value?.shape ?? []);

const chosenMapping = computed(() => chosenMappings.value.get(`${layout.value} ${chosenTensor.value}`) ?? null);

export const mapping = computed<DimMapping>(() => {
  const chosen = chosenMapping.value;
  const shown = chosen && fits(chosen, shape.value) ? shownBy(layout.value, chosen, shape.value) : null;
  return shown ?? defaultMapping(shape.value, layout.value);
});

export function chooseMapping(next: DimMapping): void {
  chosenMappings.value = new Map(chosenMappings.value).set(`${layout.value} ${chosenTensor.value}`, next);
}

/** The value's fields of the address. A mapping belongs to a view, so it is stored with the view's name. */
export const valueLink = computed(() => {
  const dims = chosenMapping.value;
  return { value: chosenMode.value ?? (dims === null ? null : valueMode.value), dims };
});

/** Applies the view and mapping in an address. */
export function applyValueLink(tensor: string | null, value: ValueMode | null, dims: DimMapping | null): void {
  chosenMode.value = value;
  if (dims === null) return;
  const layouts = value === null ? new Set(Object.values(LAYOUT_OF)) : [LAYOUT_OF[value]];
  for (const each of layouts) chosenMappings.value = new Map(chosenMappings.value).set(`${each} ${tensor}`, dims);
}

/** The element found by "next NaN": views scroll to it and mark it. */
export const focusedElement = signal<number[] | null>(null);

/** The focused element, unless it is that of a tensor with other dimensions. */
export const markedElement = computed(() => (focusedElement.value?.length === keptRow.value?.shape.length ? focusedElement.value : null));

/** An element to scroll to when its tensor is shown. */
const awaitedElement = signal<{ tensor: string; step: number; index: number[] } | null>(null);

/** Goes to an element of a tensor that may not be loaded yet. */
export function focusElementOf(tensor: string, step: number, index: number[]): void {
  awaitedElement.value = { tensor, step, index };
}

effect(() => {
  const [awaited, row] = [awaitedElement.value, keptRow.value];
  if (awaited === null || row === null || row.tensor !== awaited.tensor || row.step !== awaited.step) return;
  awaitedElement.value = null;
  if (row.shape.length === awaited.index.length) untracked(() => focusElement(awaited.index));
});

/** Scrolls to an element: fixed dimensions move to it. */
export function focusElement(index: number[]): void {
  const next = mapping.value.reduce(
    (all, role, dim) => (typeof role === 'number' ? assignIndex(all, dim, index[dim] as number) : all),
    mapping.value,
  );
  if (next.some((role, dim) => role !== mapping.value[dim])) chooseMapping(next);
  focusedElement.value = index;
}

export const snapshotKey = computed<SnapshotKey | null>(() => {
  const row = snapshot.value;
  if (row === null || runId.value === null) return null;
  const { tensor, step, visit } = row;
  const computedAt = computedPlace.value;
  if (computedAt !== null) return { run: computedAt.run, graph: computedAt.graph, worker: null, tensor, step, visit };
  return { run: runId.value, graph: graphId.value, worker: workerId.value === null ? null : row.worker, tensor, step, visit };
});

export const keyText = computed(() => (snapshotKey.value === null ? null : JSON.stringify(snapshotKey.value)));

/** File name for a picture of a part of the value, as the server names values. */
export function valueFile({ tensor, step, visit }: Snapshot, shown: DimMapping, what?: string): string {
  return tensorFile({ tensor, step, visit: visits.value.length > 1 || visit > 0 ? visit : null, selection: toSelection(shown), what });
}

/** Data of a heatmap, a line or an image; the table fetches its own tiles. */
export const slice = resource(
  computed(() => {
    const key = snapshotKey.value;
    if (key === null || !snapshot.value?.kept || panelTab.value !== 'value' || valueMode.value === 'table') return null;
    const plan = planSlice(shape.value, mapping.value, layout.value);
    const subject = `${key.run} ${key.graph} ${key.tensor} ${shape.value} ${layout.value}`;
    return { key: `${keyText.value} ${plan.selection} ${mapping.value}`, subject, of: key, plan };
  }),
  async ({ of, plan }, abort) => new Slice(await api().value(of, plan.selection, abort), plan),
);
