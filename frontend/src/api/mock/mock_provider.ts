import { ApiError, type Provider, type Query } from '../provider';
import * as nouns from './endpoints';
import { MOCK_FILE, MOCK_SOURCE, type MockNode } from './mock_network';
import { MockRun } from './mock_run';

/** A server inside the page, for working on the interface without one (`?mock=1` while developing). */
export class MockProvider implements Provider {
  private readonly runs: MockRun[];
  private readonly start = Date.now();

  /** @param empty no runs at all */
  constructor(empty = false) {
    const now = Date.now() / 1000;
    const runs = [new MockRun('mnist-conv/lr-0.3', now - 300, 5, 300, true), new MockRun('mnist-conv/baseline', now - 7200, 5, 180, false)];
    this.runs = empty ? [] : runs;
  }

  href(path: string): string {
    return `data:,${path}`;
  }

  async post(path: string): Promise<unknown> {
    throw new ApiError(403, `Made-up runs are not computed: ${path}.`, 'Serve a recorded run.');
  }

  async json(path: string, query: Query = {}, signal?: AbortSignal): Promise<unknown> {
    await pause(signal);
    if (path === 'runs') return { logdir: 'logs', version: '0.1.0', cursor: this.cursor(), runs: this.runs.map(nouns.runEntry) };
    if (path === 'changes') return this.changes(query);
    const { run, noun, rest } = this.find(path);
    if (noun === '') return nouns.runDetail(run, query.graph);
    if (noun === 'graphs' && rest.endsWith('/range')) return run.range(query.statistic as Parameters<MockRun['range']>[0]);
    if (noun === 'graphs') return { graphs: nouns.graphEntries(run) };
    if (noun === 'nodes') return nouns.nodeDetail(run, nodeOf(run, String(query.node)));
    if (noun === 'problems') return nouns.problems(run);
    if (noun === 'logs') return nouns.logs(run);
    if (noun === 'findings') return { findings: [], working: false, error: null };
    if (noun === 'ledger') return { entries: [], working: false, error: null };
    if (noun === 'most-similar') return { run: this.runs.find((other) => other !== run)?.id ?? null, common: 1 };
    if (noun === 'recordings') return { allowed: false, hint: '', recordings: [], tests: [] };
    if (noun === 'nan') return { report: null, working: false, error: null };
    if (noun === 'source' && query.file === MOCK_FILE) return { file: MOCK_FILE, text: MOCK_SOURCE };
    if (noun === 'snapshots' && !query.tensor) return nouns.snapshotList(run, query);
    return this.ofTensor(run, noun, query);
  }

  async bytes(path: string, query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
    await pause(signal);
    const { run, noun, rest } = this.find(path);
    if (noun === 'value') return nouns.value(tensorNode(run, query), Number(query.step), String(query.selection ?? ''));
    const step = /\/steps\/(\d+)$/.exec(rest);
    return step ? run.stepColumns(Number(step[1])) : run.graphColumns();
  }

  private ofTensor(run: MockRun, noun: string, query: Query): unknown {
    const node = tensorNode(run, query);
    if (noun === 'snapshots')
      return nouns.snapshots(
        run,
        [node],
        run.steps.filter((step) => query.step === undefined || step === Number(query.step)),
      );
    if (noun === 'history') return nouns.history(run, node);
    if (noun === 'histograms') return nouns.histograms(run, node, query.scale === 'linear', query.steps);
    if (noun === 'nonfinite') return nouns.nonfinite(node, Number(query.step), Number(query.limit ?? 100));
    throw new ApiError(404, `The mock has no ${noun}.`, 'Use a real server for this.');
  }

  private find(path: string): { run: MockRun; noun: string; rest: string } {
    const parts = decodeURIComponent(path).split('/').slice(1);
    const run = this.runs.find((candidate) => parts.slice(0, 2).join('/') === candidate.id);
    if (!run) throw new ApiError(404, `There is no run '${parts.join('/')}'.`, 'Choose another run.');
    return { run, noun: parts[2] ?? '', rest: parts.slice(3).join('/') };
  }

  private cursor(): string {
    return String(this.runs[0]?.lastStep ?? 0);
  }

  /** The live run gains a step every two seconds, up to 600. */
  private changes(query: Query): unknown {
    const run = this.runs[0];
    if (run) run.lastStep = Math.min(600, 300 + 5 * Math.floor((Date.now() - this.start) / 2000));
    const cursor = this.cursor();
    if (!run || query.since === cursor) return { cursor, runs: {} };
    const { snapshots } = nouns.runEntry(run);
    return { cursor, runs: { [run.id]: { snapshots, graphs: 1, last_step: run.lastStep, live: true, closed: false } } };
  }
}

function nodeOf(run: MockRun, name: string): MockNode {
  const node = run.nodes[run.rows.get(name) ?? -1];
  if (!node) throw new ApiError(404, `There is no node '${name}' in this graph.`, 'Search for a part of its name.');
  return node;
}

function tensorNode(run: MockRun, query: Query): MockNode {
  return nodeOf(run, String(query.tensor).replace(/:\d+$/, ''));
}

function pause(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 40);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new DOMException('aborted', 'AbortError'));
    });
  });
}
