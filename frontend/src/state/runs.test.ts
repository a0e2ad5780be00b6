import { expect, test, vi } from 'vitest';
import { chosenStep, chosenTensor } from './page/choices';
import { useProvider } from './provider';
import { runId, runList } from './runs';

// The module reads the browser's colour scheme.
vi.mock('./page/preferences', () => ({ panelOpen: { value: true } }));

const list = (...ids: string[]) => {
  runList.value = { logdir: 'logs', version: '1', cursor: '1', runs: ids.map((id) => ({ id, name: id }) as never) };
};

test('a run that starts replaces the current one, except while a tensor or step is selected', () => {
  useProvider({ json: () => new Promise(() => {}), bytes: () => new Promise(() => {}), post: async () => null, href: (path) => path });
  list('first');
  list('second', 'first');
  expect(runId.value).toBe('second');
  chosenTensor.value = 'relu:0';
  list('third', 'second', 'first');
  expect(runId.value).toBe('second');
  chosenTensor.value = null;
  expect(runId.value).toBe('third');
  chosenStep.value = 3;
  list('fourth', 'third');
  expect(runId.value).toBe('third');
  list('fourth');
  expect(runId.value).toBe('fourth');
});
