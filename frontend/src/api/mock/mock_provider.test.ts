import { expect, test } from 'vitest';
import { Api } from '../api';
import { MockProvider } from './mock_provider';

const api = new Api(new MockProvider());

test('the made-up server answers as http_api.md says', async () => {
  const list = await api.runs();
  const run = list.runs[0]?.id ?? '';
  const detail = await api.run(run, null);
  const graph = await api.graph(run, detail.graphs[0]?.id ?? '');
  const step = await api.step(run, graph.id, 200, null);
  expect(detail.steps.step).toContain(200);
  expect(graph.nodeCount).toBe(detail.graphs[0]?.nodes);
  expect(step.step).toBe(200);
  const range = await api.statisticRange(run, graph.id, { statistic: 'abs_max' });
  expect(range.largest).toBeGreaterThanOrEqual(Math.max(...step.column('abs_max').filter(Number.isFinite)));
  const first = (await api.problems(run)).nonfinite[0];
  expect([first?.node, first?.first_step]).toEqual(['loss/Log', 185]);
});

test('a value, its histogram and its history agree', async () => {
  const run = (await api.runs()).runs[0]?.id ?? '';
  const tensor = 'sequential/conv2d/kernel/ReadVariableOp:0';
  const value = await api.value({ run, graph: null, worker: null, tensor, step: 20, visit: 0 }, '0,:,0,:');
  const history = await api.history(run, tensor, {});
  const histograms = await api.histograms(run, tensor, {});
  expect(value.shape).toEqual([3, 16]);
  const size = history.rows[0]?.size;
  for (const row of histograms.rows) expect(row.counts.reduce((sum, count) => sum + count, 0)).toBe(size);
  expect(histograms.edges).toEqual([...histograms.edges].sort((a, b) => a - b));
});

test('a request that is aborted rejects as fetch does', async () => {
  const controller = new AbortController();
  const answer = api.runs(controller.signal);
  controller.abort();
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
});
