import { signal } from '@preact/signals';
import type { Trace } from '../../model/graph/trace';
import type { CardColour } from '../../model/layers/card_statistics';
import type { Part } from '../../model/layers/parts';
import {
  type CompareAt,
  EMPTY_LINK,
  type PanelTab,
  type StepRange,
  type TableDisplay,
  type TableRows,
  type View,
} from '../../model/run/deep_link';
import { NO_FILTER, parseSort, type TableFilter, type TableSort } from '../../model/run/tensor_table';
import type { DimMapping, ValueMode } from '../../model/value/dims';
import { type CompareSort, parseCompareSort } from '../../model/wire/comparison';
import type { SampleKind } from '../../model/wire/events';

/** The user's choices: one signal per fact, all in the address (state/page/address.ts). Null means the default. */
export const chosenRun = signal<string | null>(EMPTY_LINK.run);
export const chosenGraph = signal<string | null>(EMPTY_LINK.graph);
export const chosenWorker = signal<string | null>(EMPTY_LINK.worker);
/** Run B of a comparison; null: the newest other one. */
export const otherRun = signal<string | null>(EMPTY_LINK.other);
/** Whether the first differing step is compared, or the current one; and the step of B, null for the same. */
export const compareAt = signal<CompareAt>(EMPTY_LINK.at);
export const otherStep = signal<number | null>(EMPTY_LINK.otherStep);
/** The worker of B; null: that of A within one run, else the first. */
export const otherWorker = signal<string | null>(EMPTY_LINK.otherWorker);
export const compareSort = signal<CompareSort>(parseCompareSort(EMPTY_LINK.rank));
/** Null follows the latest step. */
export const chosenStep = signal<number | null>(EMPTY_LINK.step);
/** `node:slot`, or null without a selection. */
export const chosenTensor = signal<string | null>(EMPTY_LINK.tensor);
/** Path of the scope that is selected on the graph, where no node is. */
export const chosenScope = signal<string | null>(EMPTY_LINK.selected);
/** Key of the card that is selected in the layer view, where no node is. */
export const chosenLayer = signal<string | null>(EMPTY_LINK.layer);
/** Part of the step that the graph of ops shows; null: its default. */
export const chosenPart = signal<Part | null>(EMPTY_LINK.part);
/** Measure that colours the cards. */
export const cardColour = signal<CardColour>(EMPTY_LINK.shade);
/** Whether the node panel takes the whole page, if a node is selected. */
export const enlarged = signal(EMPTY_LINK.enlarged);
export const chosenVisit = signal<number | null>(EMPTY_LINK.visit);
export const view = signal<View>(EMPTY_LINK.view);
/** How the table of tensors is filtered and sorted. */
export const tableFilter = signal<TableFilter>(NO_FILTER);
export const tableSort = signal<TableSort>(parseSort(EMPTY_LINK.sort));
/** The scope of the timeline; empty for all. */
export const timelineScope = signal<string>(EMPTY_LINK.scope);
/** Its rows that the user expanded or collapsed. */
export const unfolded = signal<readonly string[]>(EMPTY_LINK.unfolded);
export const folded = signal<readonly string[]>(EMPTY_LINK.folded);
/** The file and line of the program shown; empty follows the selected node. */
export const sourcePlace = signal<string>(EMPTY_LINK.place);
export const panelTab = signal<PanelTab>(EMPTY_LINK.panel);
/** Kind of value view; null: the default for the tensor. */
export const chosenMode = signal<ValueMode | null>(EMPTY_LINK.value);
/** The user's dim mappings, by layout and tensor; they stay when the step changes. */
export const chosenMappings = signal<ReadonlyMap<string, DimMapping>>(new Map());
/** The selected range of steps; null for all. */
export const stepRange = signal<StepRange | null>(EMPTY_LINK.range);
/** Tensors whose histories are compared. */
export const pins = signal<readonly string[]>(EMPTY_LINK.pins);
/** Search for samples in the events. */
export const sampleSearch = signal<string>(EMPTY_LINK.saw);
export const sampleKind = signal<SampleKind>(EMPTY_LINK.of);
/** Whether the table lists the current step, or all. */
export const tableRows = signal<TableRows>(EMPTY_LINK.rows);
/** A table, or a wall of histograms. */
export const tableDisplay = signal<TableDisplay>(EMPTY_LINK.list);
/** Expanded scopes of the graph; null: the graph's default. */
export const openScopes = signal<readonly string[] | null>(EMPTY_LINK.open);
/** Ungrouped blocks; `*` for all. */
export const ungrouped = signal<readonly string[]>(EMPTY_LINK.unstacked);
/** The trace on the graph. */
export const trace = signal<Trace | null>(EMPTY_LINK.trace);
/** `health`, `op`, …, or `statistic:abs_max`. */
export const colour = signal<string>(EMPTY_LINK.color);

/** Another graph has other scopes. */
export function resetTimeline(): void {
  timelineScope.value = EMPTY_LINK.scope;
  unfolded.value = EMPTY_LINK.unfolded;
  folded.value = EMPTY_LINK.folded;
}
