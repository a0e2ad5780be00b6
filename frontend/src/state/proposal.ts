import { runDetail } from './runs';
import { chooseGraph, selectNode, selectTensor } from './selection';

/** Goes to what a proposed name stands for: a graph of the run on show, a tensor (`node:slot`), else a node. */
export function goToProposed(name: string): void {
  if (runDetail.value?.graphs.some((graph) => graph.id === name)) chooseGraph(name);
  else if (/:\d+$/.test(name)) selectTensor(name);
  else selectNode(name);
}
