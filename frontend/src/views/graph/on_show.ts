import { effect, signal } from '@preact/signals';
import { view } from '../../state/choices';
import { maximisePanel } from '../../state/ui';
import type { GraphView } from './graph_view';

/** The graph of the run while a view shows it, for what acts on it from elsewhere on the page. */
export const graphOnShow = signal<GraphView | null>(null);

let forget = (): void => undefined;

/** Does something with the graph, now or as soon as it is laid out; a view without it makes room. What still waits is forgotten. */
export function withGraph(act: (model: GraphView) => void): void {
  forget();
  if (view.value !== 'stepper') view.value = 'graph';
  maximisePanel(false);
  let done = false;
  const stop = effect(() => {
    const model = graphOnShow.value;
    if (done || model?.status.value.kind !== 'ready') return;
    done = true;
    queueMicrotask(() => {
      forget();
      act(model);
    });
  });
  forget = stop;
}
