import { beforeAll, expect, test, vi } from 'vitest';
import { ApiError, type Provider } from '../../api/provider';

// Preferences and the screen's settings are read from a browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, { window: globalThis, matchMedia: () => matches, addEventListener: () => undefined });
});

import { chosenRun, chosenTensor, view } from '../page/choices';
import { useProvider } from '../provider';
import { runList } from '../runs';
import { cancelComputing, recording } from './replay';
import { shownWhatIfs } from './what_ifs';

const column = (step: number[]) => ({ step, time: step, snapshots: step, nan: step, inf: step });
const tensors = {
  name: ['a:0'],
  dtype: ['f'],
  shape: [[1]],
  nan: [0],
  inf: [0],
  bad_visit: [-1],
  visits: [1],
  kept: [true],
  proven: [null],
};
const computedRun = (run: string) => ({
  failed: '',
  proofs: null,
  run,
  graph: 'g',
  step: 1,
  changed: [],
  order: ['a'],
  origins: [],
  tensors,
});

/** Reports when it is reached, and continues when released. */
class Gate {
  private open: () => void = () => undefined;
  private arrive: () => void = () => undefined;
  readonly passed = new Promise<void>((resolve) => {
    this.open = resolve;
  });
  readonly reached = new Promise<void>((resolve) => {
    this.arrive = resolve;
  });
  async wait(): Promise<void> {
    this.arrive();
    await this.passed;
  }
  letGo(): void {
    this.open();
  }
}

let gate: Gate | null = null;
let savedGate: Gate | null = null;
let computations = 0;
let steps = [1];
const gone = new Set<string>();

const server: Provider = {
  json: async (path) => {
    if (path.endsWith('/recordings'))
      return {
        allowed: true,
        hint: '',
        recordings: steps.map((step) => ({ id: `step-${step}-0`, step, call: 0, function: 'f', graph: '', damage: '' })),
      };
    if (path.endsWith('/snapshots')) {
      if (gone.has(path.split('/')[1] ?? '')) throw new ApiError(404, 'There is no such run.', '');
      return { total: 1, rows: [{ step: 1, shape: [1], min: 0, mean: 0, max: 0 }] };
    }
    return { id: path.split('/')[1], workers: [], graphs: [{ id: 'g', snapshots: 1 }], steps: column(steps), events: [] };
  },
  bytes: async () => new ArrayBuffer(0),
  post: async (path, body) => {
    if (path.endsWith('/cancel')) throw new ApiError(0, 'The server cannot be reached.', '');
    if (path.endsWith('/what-ifs')) {
      const held = savedGate;
      savedGate = null;
      if (held === null) return { what_ifs: {} };
      await held.wait();
      return { what_ifs: { 'of run A': [['a:0', 'x']] } };
    }
    const { changes } = body as { changes: unknown[] };
    const held = changes.length > 0 ? gate : null;
    if (held !== null) gate = null;
    await held?.wait();
    return {
      working: false,
      progress: { done: 0, total: 0, doing: '' },
      error: null,
      hint: '',
      result: computedRun(`computed-${++computations}`),
    };
  },
  href: (path) => path,
};

const entry = (id: string, snapshots = 5) => ({ id, name: id, snapshots, graphs: 1, live: true, steps: { last: 1 } }) as never;
const list = (cursor: string, snapshots?: number) => ({
  logdir: 'logs',
  version: '1',
  cursor,
  runs: ['A', 'B', 'C', 'D'].map((id) => entry(id, snapshots)),
});
const names = () => shownWhatIfs.value.all.map((each) => each.name);
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

async function show(run: string): Promise<void> {
  chosenRun.value = run;
  await vi.waitFor(() => expect(stepper.cursor.value).toBeGreaterThanOrEqual(0));
  await settle();
}

let stepper: typeof import('./replay_cursor');

beforeAll(async () => {
  useProvider(server);
  stepper = await import('./replay_cursor');
  runList.value = list('1');
  view.value = 'stepper';
});

test('a change that is computed when another run is shown is no change of that', async () => {
  await show('A');
  const held = new Gate();
  gate = held;
  const change = stepper.makeChange({ tensor: 'a:0', expression: 'x * 2' });
  await held.reached;
  await show('B');
  held.letGo();
  await change;
  expect(names()).toEqual([]);
  expect(stepper.changeError.value).toBeNull();
});

test('saved what-ifs that arrive when another run is shown are not of that', async () => {
  const held = new Gate();
  savedGate = held;
  chosenRun.value = 'C';
  await held.reached;
  await show('B');
  held.letGo();
  await settle();
  expect(names()).toEqual([]);
});

test('a result that the server gave up is computed once more, and takes no other column along', async () => {
  await show('D');
  chosenTensor.value = 'a:0';
  await stepper.makeChange({ tensor: 'a:0', expression: 'x * 3' });
  await vi.waitFor(() => expect(stepper.sideBySide.data.value?.map((each) => each.row?.mean)).toEqual([0, 0]));
  const before = computations;
  await stepper.chooseWhatIf(null);
  await settle();
  gone.add(`computed-${before}`);
  stepper.sideBySide.reload();
  await vi.waitFor(() => expect(stepper.sideBySide.data.value?.map((each) => each.row?.mean)).toEqual([0, undefined]));
  expect(stepper.sideBySide.error.value).toBeNull();
  await stepper.chooseWhatIf('what-if 1');
  expect(computations).toBe(before + 1);
});

test('what is not saved is there again after a new step of a live run', async () => {
  expect(names()).toEqual(['what-if 1']);
  steps = [1, 2];
  runList.value = list('2', 6);
  await vi.waitFor(() => expect(recording.value?.id).toBe('step-2-0'));
  expect(names()).toEqual([]);
  steps = [1];
  runList.value = list('3', 7);
  await vi.waitFor(() => expect(recording.value?.id).toBe('step-1-0'));
  expect(names()).toEqual(['what-if 1']);
});

test('a cancellation that the server does not get rejects nothing', async () => {
  await expect(cancelComputing()).resolves.toBeUndefined();
});
