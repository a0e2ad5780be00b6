import { batch, computed, signal } from '@preact/signals';
import { rowOf } from '../model/wire/graph';
import { view } from './choices';
import { report } from './findings';
import { graph } from './graph';
import { goTo } from './selection';

/** Whether the graph shows how NaN went from its birth to the loss. */
export const chainShown = signal(false);

const NO_ROWS: readonly number[] = [];

/** Rows of the chain's nodes in the graph on show, from birth to loss. */
export const chainRows = computed<readonly number[]>(() => {
  const [found, drawn] = [report.value, graph.data.value];
  if (!chainShown.value || found === null || drawn === null || drawn.id !== found.graph) return NO_ROWS;
  return found.chain.map((link) => rowOf(drawn, link.node)).filter((row) => row >= 0);
});

/** Goes to the birth on the graph, with the chain marked. */
export function showChain(): void {
  const found = report.value;
  const birth = found?.births[0];
  if (!found || !birth) return;
  batch(() => {
    chainShown.value = true;
    view.value = 'graph';
    goTo({ graph: birth.graph, tensor: birth.tensor, step: birth.step, visit: birth.visit });
  });
}
