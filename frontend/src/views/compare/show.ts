import { batch } from '@preact/signals';
import type { TensorDifference } from '../../model/wire/comparison';
import { chosenGraph, chosenStep, chosenTensor, chosenVisit, compareAt } from '../../state/choices';
import { comparison } from '../../state/compare/comparison';

/** Selects a compared tensor, in its graph and at its visit; also its step, unless that chooses what is compared. */
export function showDifference(row: TensorDifference): void {
  batch(() => {
    const told = comparison.data.value?.comparison;
    if (told && compareAt.value === 'first') chosenStep.value = told.a.step;
    chosenGraph.value = row.graph;
    chosenTensor.value = row.tensor;
    chosenVisit.value = row.visits > 1 ? row.visit : null;
  });
}
