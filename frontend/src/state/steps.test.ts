import { expect, test, vi } from 'vitest';
import type { Provider } from '../api/provider';
import { chosenGraph, chosenStep, chosenVisit, chosenWorker, openScopes } from './page/choices';
import { useProvider } from './provider';
import { graphId, runList } from './runs';
import { chooseGraph, chooseWorker, goTo } from './selection';
import { step, stepColumns, stepIndex } from './steps';

// The module reads the browser's colour scheme.
vi.mock('./page/preferences', () => ({ panelOpen: { value: true } }));

const STEPS: Record<string, number[]> = { fit: [0, 5, 10], predict: [11, 12] };

const columns = (step: number[]) => ({ step, time: step, snapshots: step.map(() => 1), nan: step.map(() => 0), inf: step.map(() => 0) });

/** A run whose graphs `fit` and `predict` were captured at different steps. */
const server: Provider = {
  json: async (_path, query) => ({
    id: 'r',
    workers: [],
    graphs: Object.entries(STEPS).map(([id, steps]) => ({ id, snapshots: steps.length, workers: ['host-1', 'host-2'] })),
    steps: columns(query?.graph ? (STEPS[String(query.graph)] as number[]) : Object.values(STEPS).flat()),
  }),
  bytes: async () => new ArrayBuffer(0),
  post: async () => null,
  href: (path) => path,
};

test('steps are those of the current graph; another graph keeps the nearest step, a jump sets both', async () => {
  useProvider(server);
  runList.value = { logdir: 'logs', version: '1', cursor: '1', runs: [{ id: 'r', snapshots: 5, graphs: 2, live: false } as never] };
  await vi.waitFor(() => expect(stepColumns.value.step).toEqual([0, 5, 10]));
  expect([graphId.value, step.value]).toEqual(['fit', 10]);

  chosenStep.value = 5;
  chosenGraph.value = 'predict';
  await vi.waitFor(() => expect(stepColumns.value.step).toEqual([11, 12]));
  expect([step.value, stepIndex.value]).toEqual([11, 0]);

  openScopes.value = ['a'];
  goTo({ graph: 'fit', tensor: 'a:0', step: 5, visit: 3 });
  await vi.waitFor(() => expect(stepColumns.value.step).toEqual([0, 5, 10]));
  expect([graphId.value, step.value, openScopes.value]).toEqual(['fit', 5, null]);
  expect(chosenVisit.value).toBe(3);
  goTo({ tensor: 'a:0', step: 5 });
  expect(chosenVisit.value).toBeNull();
});

test('another graph or worker drops the chosen visit, the same one keeps it', () => {
  chooseWorker('host-1');
  goTo({ graph: 'fit', tensor: 'a:0', visit: 3 });
  chooseGraph('fit');
  chooseWorker('host-1');
  expect(chosenVisit.value).toBe(3);
  chooseWorker('host-2');
  expect([chosenWorker.value, chosenVisit.value]).toEqual(['host-2', null]);
  goTo({ tensor: 'a:0', visit: 3 });
  chooseGraph('predict');
  expect([chosenGraph.value, chosenVisit.value]).toEqual(['predict', null]);
});
