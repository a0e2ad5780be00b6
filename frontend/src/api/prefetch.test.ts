import { expect, test } from 'vitest';
import { Prefetch } from './prefetch';
import type { Provider } from './provider';

function recorded(answers: Record<string, unknown>) {
  const asked: string[] = [];
  const answer = async (path: string): Promise<never> => {
    asked.push(path);
    if (!(path in answers)) throw new Error(`no ${path}`);
    return answers[path] as never;
  };
  const provider: Provider = { json: answer, bytes: answer, post: answer, href: (path) => path };
  return { asked, provider };
}

const ANSWERS = {
  runs: {
    runs: [
      { id: 'new', name: 'fit' },
      { id: 'old', name: 'first' },
    ],
  },
  'runs/new': { graphs: [{ id: 'main' }, { id: 'other' }] },
  'runs/old': { graphs: [{ id: 'main' }] },
  'runs/new/graphs/main': new ArrayBuffer(1),
  'runs/new/graphs/other': new ArrayBuffer(2),
  'runs/old/graphs/main': new ArrayBuffer(3),
};

const settled = () => new Promise((resolve) => setTimeout(resolve));

test('the newest run and its first graph are asked for before anybody wants them, and once', async () => {
  const { asked, provider } = recorded(ANSWERS);
  const ahead = new Prefetch(provider, { run: null, graph: null });
  await settled();
  expect(asked).toEqual(['runs', 'runs/new', 'runs/new/graphs/main']);
  expect(await ahead.json('runs')).toBe(ANSWERS.runs);
  expect(await ahead.json('runs/new', { graph: null })).toBe(ANSWERS['runs/new']);
  const graph = await ahead.bytes('runs/new/graphs/main');
  expect(graph.byteLength).toBe(1);
  expect(await ahead.graph).toBe(graph);
  expect(asked).toHaveLength(3);
  await ahead.json('runs');
  expect(asked).toHaveLength(4);
});

test('what the address names goes first; a graph that is gone gives way', async () => {
  const other = recorded(ANSWERS);
  new Prefetch(other.provider, { run: 'new', graph: 'other' });
  const gone = recorded(ANSWERS);
  new Prefetch(gone.provider, { run: 'old', graph: 'other' });
  await settled();
  expect(other.asked).toEqual(['runs', 'runs/new', 'runs/new/graphs/other']);
  expect(gone.asked).toEqual(['runs', 'runs/old', 'runs/old/graphs/main']);
});

test('a run that is called by its name is asked for by its id, and one that is not there not at all', async () => {
  const named = recorded(ANSWERS);
  new Prefetch(named.provider, { run: 'first', graph: null });
  const gone = recorded(ANSWERS);
  new Prefetch(gone.provider, { run: 'third', graph: null });
  const id = recorded(ANSWERS);
  new Prefetch(
    { ...id.provider, json: (path) => (path === 'runs' ? new Promise(() => undefined) : id.provider.json(path)) },
    {
      run: 'fit-0123abcd',
      graph: null,
    },
  );
  await settled();
  expect(named.asked).toEqual(['runs', 'runs/old', 'runs/old/graphs/main']);
  expect(gone.asked).toEqual(['runs']);
  expect(id.asked).toEqual(['runs/fit-0123abcd']);
});

test('failures reach who asks, and old answers are not handed out', async () => {
  let now = 0;
  const { asked, provider } = recorded({ runs: ANSWERS.runs });
  const ahead = new Prefetch(provider, { run: 'new', graph: null }, () => now);
  await settled();
  await expect(ahead.json('runs/new')).rejects.toThrow('no runs/new');
  now = 60_000;
  await ahead.json('runs');
  expect(asked).toEqual(['runs', 'runs/new', 'runs']);
});

test('everything else waits for the graph, unless it never comes', async () => {
  let arrive = (_: ArrayBuffer): void => undefined;
  const { asked, provider } = recorded({ ...ANSWERS, 'runs/new/findings': {} });
  const slow: Provider = { ...provider, bytes: () => new Promise((resolve) => (arrive = resolve as typeof arrive)) };
  const ahead = new Prefetch(slow, { run: null, graph: null });
  const findings = ahead.json('runs/new/findings');
  await settled();
  expect(asked).toEqual(['runs', 'runs/new']);
  arrive(new ArrayBuffer(1));
  await findings;
  expect(asked).toEqual(['runs', 'runs/new', 'runs/new/findings']);
  const failing = recorded({ 'runs/new/findings': {} });
  const none = new Prefetch(failing.provider, { run: 'new', graph: null });
  await none.json('runs/new/findings');
  expect(await none.graph).toBeUndefined();
  expect(failing.asked).toContain('runs/new/findings');
});

test('a graph that is still on its way is not asked for twice, however late', async () => {
  let now = 0;
  let arrive = (_: ArrayBuffer): void => undefined;
  const { asked, provider } = recorded(ANSWERS);
  const slow: Provider = { ...provider, bytes: () => new Promise((resolve) => (arrive = resolve as typeof arrive)) };
  const ahead = new Prefetch(slow, { run: null, graph: null }, () => now);
  await settled();
  now = 20_000;
  const graph = ahead.bytes('runs/new/graphs/main');
  arrive(new ArrayBuffer(7));
  expect((await graph).byteLength).toBe(7);
  expect(asked).toEqual(['runs', 'runs/new']);
});
