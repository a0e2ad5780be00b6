import { computed, signal } from '@preact/signals';
import type { SnapshotKey } from '../api/api';
import { assignIndex, type DimMapping, defaultMapping, fits, type Layout } from '../model/dims';
import { planSlice, Slice } from '../model/slice';
import { chosenTensor, panelTab } from './choices';
import { snapshot } from './node';
import { valueMode } from './preferences';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, workerId } from './runs';

/** The value on show: which snapshot, how its dimensions are laid out, and the fetched part of it. */
export const VALUE_MODES = ['table', 'heatmap', 'line', 'image'] as const;
export type ValueMode = (typeof VALUE_MODES)[number];

export const LAYOUT_OF: Record<ValueMode, Layout> = { table: 'plane', heatmap: 'plane', line: 'line', image: 'image' };

/** Mappings the user made, by tensor and layout; they outlive a change of step. */
const chosenMappings = signal<ReadonlyMap<string, DimMapping>>(new Map());

const layout = computed<Layout>(() => LAYOUT_OF[valueMode.value]);

const shape = computed<readonly number[]>(() => snapshot.value?.shape ?? []);

export const mapping = computed<DimMapping>(() => {
  const chosen = chosenMappings.value.get(`${layout.value} ${chosenTensor.value}`);
  return chosen && fits(chosen, shape.value) ? chosen : defaultMapping(shape.value, layout.value);
});

export function chooseMapping(next: DimMapping): void {
  chosenMappings.value = new Map(chosenMappings.value).set(`${layout.value} ${chosenTensor.value}`, next);
}

/** The element that "next NaN" found: views scroll to it and mark it. */
export const focusedElement = signal<number[] | null>(null);

/** Brings an element into the view: fixed dimensions move to it. */
export function focusElement(index: number[]): void {
  const next = mapping.value.reduce(
    (all, role, dim) => (typeof role === 'number' ? assignIndex(all, dim, index[dim] as number) : all),
    mapping.value,
  );
  chooseMapping(next);
  focusedElement.value = index;
}

export const snapshotKey = computed<SnapshotKey | null>(() => {
  const row = snapshot.value;
  if (row === null || runId.value === null) return null;
  const { tensor, step, visit } = row;
  return { run: runId.value, graph: graphId.value, worker: workerId.value === null ? null : row.worker, tensor, step, visit };
});

export const keyText = computed(() => (snapshotKey.value === null ? null : JSON.stringify(snapshotKey.value)));

/** What a heatmap, a line or an image shows; the table fetches its own tiles. */
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
