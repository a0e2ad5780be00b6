import { decodeNpy, type NpyArray } from '../lib/arrays/npy';
import type { SourceMap } from '../model/run/source_lines';
import type {
  Changes,
  FoundElements,
  GraphEntry,
  Histograms,
  History,
  NodeDetail,
  Nonfinite,
  Problems,
  RunDetail,
  RunList,
  SamplePage,
  SnapshotPage,
  StepBatch,
  TrainingLogs,
} from '../model/wire/answers';
import type { ComparisonAnswer } from '../model/wire/comparison';
import type { SampleKind } from '../model/wire/events';
import type { Findings, LedgerAnswer, NanAnswer } from '../model/wire/findings';
import { decodeGraph, type GraphData } from '../model/wire/graph';
import { decodeNodeTrends, type NodeTrend } from '../model/wire/node_trends';
import type { Computed, LogicResult, Recordings, ReplayAnswer } from '../model/wire/replay';
import { decodeStepHistograms, type StepHistograms } from '../model/wire/step_histograms';
import { decodeStep, type StepStatistics } from '../model/wire/step_statistics';
import { decodeTimeline, type Timeline } from '../model/wire/timeline';
import type { ValueRange } from '../model/wire/value_scale';
import type { Change, SavedWhatIfs } from '../model/wire/what_ifs';
import { decodeWorkerGrid, type WorkerGrid } from '../model/wire/worker_grid';
import {
  readHistograms,
  readHistory,
  readLogs,
  readRange,
  readSnapshot,
  readTextValue,
  type WireHistograms,
  type WireHistory,
  type WireLogs,
  type WireRange,
  type WireSnapshot,
  type WireValue,
} from './decode';
import { ApiError, type Provider, pathOf, type Query } from './provider';
import type { StoryFile } from './story/story_file';

/** Which snapshot of a tensor is meant. */
export interface SnapshotKey {
  run: string;
  graph: string | null;
  worker: string | null;
  tensor: string;
  step: number;
  visit: number;
}

/** The typed methods of a provider: one per address of server/http_api.md. */
export class Api {
  constructor(private readonly provider: Provider) {}

  runs(signal?: AbortSignal): Promise<RunList> {
    return this.json('runs', {}, signal);
  }

  changes(since: string | null, signal?: AbortSignal): Promise<Changes> {
    return this.json('changes', { since }, signal);
  }

  /** With a graph, `steps` are those with snapshots of it. */
  run(run: string, graph: string | null, signal?: AbortSignal): Promise<RunDetail> {
    return this.json(`runs/${pathOf(run)}`, { graph }, signal);
  }

  async graphs(run: string, signal?: AbortSignal): Promise<GraphEntry[]> {
    return (await this.json<{ graphs: GraphEntry[] }>(`runs/${pathOf(run)}/graphs`, {}, signal)).graphs;
  }

  async graph(run: string, graph: string, signal?: AbortSignal): Promise<GraphData> {
    return decodeGraph(await this.provider.bytes(`runs/${pathOf(run)}/graphs/${pathOf(graph)}`, {}, signal));
  }

  async step(run: string, graph: string, step: number, worker: string | null, signal?: AbortSignal): Promise<StepStatistics> {
    const path = `runs/${pathOf(run)}/graphs/${pathOf(graph)}/steps/${step}`;
    return decodeStep(await this.provider.bytes(path, { worker }, signal));
  }

  /** Small histograms of several tensors, `row:slot`, at one step. */
  async stepHistograms(run: string, graph: string, step: number, query: Query, signal?: AbortSignal): Promise<StepHistograms> {
    const path = `runs/${pathOf(run)}/graphs/${pathOf(graph)}/steps/${step}/histograms`;
    return decodeStepHistograms(await this.provider.bytes(path, query, signal));
  }

  async timeline(run: string, graph: string, query: Query, signal?: AbortSignal): Promise<Timeline> {
    return decodeTimeline(await this.provider.bytes(`runs/${pathOf(run)}/graphs/${pathOf(graph)}/timeline`, query, signal));
  }

  /** How a statistic of some nodes (rows) changes over the steps. */
  async nodeTrends(run: string, graph: string, query: Query, signal?: AbortSignal): Promise<Map<number, NodeTrend>> {
    return decodeNodeTrends(await this.provider.bytes(`runs/${pathOf(run)}/graphs/${pathOf(graph)}/trends`, query, signal));
  }

  /** Range of a statistic over all steps of a graph. */
  async statisticRange(run: string, graph: string, query: Query, signal?: AbortSignal): Promise<ValueRange> {
    return readRange(await this.json<WireRange>(`runs/${pathOf(run)}/graphs/${pathOf(graph)}/range`, query, signal));
  }

  node(run: string, graph: string | null, node: string, signal?: AbortSignal): Promise<NodeDetail> {
    // As a parameter: a name with a segment `..` would not survive in a path.
    return this.json(`runs/${pathOf(run)}/nodes`, { node, graph }, signal);
  }

  async snapshots(run: string, query: Query, signal?: AbortSignal): Promise<SnapshotPage> {
    const page = await this.json<Omit<SnapshotPage, 'rows'> & { rows: WireSnapshot[] }>(`runs/${pathOf(run)}/snapshots`, query, signal);
    return { ...page, rows: page.rows.map(readSnapshot) };
  }

  /** Position of a tensor at a step in that list, from 0; null if it is not in it. */
  async snapshotPlace(run: string, query: Query, at: { tensor: string; step: number }, signal?: AbortSignal): Promise<number | null> {
    const asked = { ...query, trend: null, samples: false, histograms: false, limit: 0, at: at.tensor, at_step: at.step };
    return (await this.json<{ place: number | null }>(`runs/${pathOf(run)}/snapshots`, asked, signal)).place;
  }

  async history(run: string, tensor: string, query: Query, signal?: AbortSignal): Promise<History> {
    return readHistory(await this.json<WireHistory>(`runs/${pathOf(run)}/history`, { tensor, ...query }, signal));
  }

  async histograms(run: string, tensor: string, query: Query, signal?: AbortSignal): Promise<Histograms> {
    return readHistograms(await this.json<WireHistograms>(`runs/${pathOf(run)}/histograms`, { tensor, ...query }, signal));
  }

  /** A statistic of a tensor on all workers. */
  async workerGrid(run: string, query: Query, signal?: AbortSignal): Promise<WorkerGrid> {
    return decodeWorkerGrid(await this.provider.bytes(`runs/${pathOf(run)}/workers`, query, signal));
  }

  async value(key: SnapshotKey, selection: string, signal?: AbortSignal): Promise<NpyArray> {
    const path = `runs/${pathOf(key.run)}/value`;
    try {
      return decodeNpy(await this.provider.bytes(path, valueQuery(key, selection, 'npy'), signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      const answer = await this.json<WireValue>(path, valueQuery(key, selection, 'json'), signal); // 400 again, unless the error is about the format
      if (answer.dtype !== 'string') throw error;
      return readTextValue(answer);
    }
  }

  /** Address from which the browser downloads a value. */
  valueHref(key: SnapshotKey, selection: string, format: 'npy' | 'csv'): string {
    return this.provider.href(`runs/${pathOf(key.run)}/value`, valueQuery(key, selection, format));
  }

  /** The answers for a story of a run; `also`: tensors to put first, and steps to include. */
  story(run: string, also: { tensors: readonly string[]; steps: readonly number[] }, signal?: AbortSignal): Promise<StoryFile> {
    return this.json(`runs/${pathOf(run)}/story`, { tensors: also.tensors.join('\n'), also: also.steps.join() }, signal);
  }

  /** A run, or some of its steps, as a file. */
  tapZip(run: string, steps: string | null, signal?: AbortSignal): Promise<ArrayBuffer> {
    return this.provider.bytes(`runs/${pathOf(run)}/tap.zip`, { steps }, signal);
  }

  nonfinite(key: SnapshotKey, limit: number, signal?: AbortSignal): Promise<Nonfinite> {
    const { run, graph, worker, tensor, step, visit } = key;
    return this.json(`runs/${pathOf(run)}/nonfinite`, { tensor, step, visit, graph, worker, limit }, signal);
  }

  async logs(run: string, graph: string, signal?: AbortSignal): Promise<TrainingLogs> {
    const wire = await this.json<WireLogs>(`runs/${pathOf(run)}/logs`, { graph }, signal);
    return readLogs(wire);
  }

  /** Position of the largest or smallest element of a value, or of its first zeros. */
  elements(key: SnapshotKey, find: 'zero' | 'max' | 'min', limit: number, signal?: AbortSignal): Promise<FoundElements> {
    const { run, graph, worker, tensor, step, visit } = key;
    return this.json(`runs/${pathOf(run)}/elements`, { tensor, step, visit, graph, worker, find, limit }, signal);
  }

  /** Which samples fed a step. */
  async batches(run: string, step: number, signal?: AbortSignal): Promise<StepBatch[]> {
    return (await this.json<{ batches: StepBatch[] }>(`runs/${pathOf(run)}/batch`, { step }, signal)).batches;
  }

  /** File names or ids that contain the text. */
  samples(run: string, of: SampleKind, part: string, signal?: AbortSignal): Promise<SamplePage> {
    return this.json(`runs/${pathOf(run)}/samples`, { of, part }, signal);
  }

  /** The steps that used one sample, or samples of one file. */
  async stepsFedBy(run: string, of: SampleKind, text: string, signal?: AbortSignal): Promise<number[]> {
    const query = of === 'files' ? { file: text } : { id: text };
    return (await this.json<{ steps: number[] }>(`runs/${pathOf(run)}/batches`, query, signal)).steps;
  }

  async source(run: string, file: string, signal?: AbortSignal): Promise<string> {
    return (await this.json<{ text: string }>(`runs/${pathOf(run)}/source`, { file }, signal)).text;
  }

  /** Source lines that created the graph's nodes. */
  sources(run: string, graph: string, signal?: AbortSignal): Promise<SourceMap> {
    return this.json(`runs/${pathOf(run)}/graphs/${pathOf(graph)}/sources`, {}, signal);
  }

  problems(run: string, signal?: AbortSignal): Promise<Problems> {
    return this.json(`runs/${pathOf(run)}/problems`, {}, signal);
  }

  /** Findings of the rules; `working` while the server still checks. */
  findings(run: string, signal?: AbortSignal): Promise<Findings> {
    return this.json(`runs/${pathOf(run)}/findings`, {}, signal);
  }

  /** Origins of NaN and infinities. */
  nan(run: string, signal?: AbortSignal): Promise<NanAnswer> {
    return this.json(`runs/${pathOf(run)}/nan`, {}, signal);
  }

  /** Gradients that are exactly zero, and updates lost to rounding. */
  ledger(run: string, signal?: AbortSignal): Promise<LedgerAnswer> {
    return this.json(`runs/${pathOf(run)}/ledger`, {}, signal);
  }

  /** Comparison of two runs; `working` while the server still compares. */
  comparison(query: Query, signal?: AbortSignal): Promise<ComparisonAnswer> {
    return this.json('diff', query, signal);
  }

  /** The most similar run, or null. */
  mostSimilarRun(run: string, signal?: AbortSignal): Promise<{ run: string | null; common: number }> {
    return this.json(`runs/${pathOf(run)}/most-similar`, {}, signal);
  }

  /** Address from which the browser downloads a comparison. */
  comparisonHref(query: Query): string {
    return this.provider.href('diff', query);
  }

  /** Position of the largest difference between two values of a tensor. */
  worstDifference(query: Query, signal?: AbortSignal): Promise<{ index: number[] }> {
    return this.json('diff/worst', query, signal);
  }

  /** Address of an image of one side of a compared tensor, or of their difference. */
  differenceHref(query: Query): string {
    return this.provider.href('diff/value', query);
  }

  /** Recorded steps, which can be replayed. */
  recordings(run: string, signal?: AbortSignal): Promise<Recordings> {
    return this.json(`runs/${pathOf(run)}/recordings`, {}, signal);
  }

  /** Tensors of a recorded step; request again while `working`. `tensors` null: all. */
  async compute(
    run: string,
    recording: string,
    changes: readonly Change[],
    tensors: readonly string[] | null,
  ): Promise<ReplayAnswer<Computed>> {
    const pairs = changes.map(({ tensor, expression }) => [tensor, expression]);
    return (await this.provider.post(`replay/${pathOf(run)}/compute`, { recording, changes: pairs, tensors })) as ReplayAnswer<Computed>;
  }

  /** Tests the logic of a recorded step; request again while `working`. */
  async testLogic(run: string, recording: string, test: string): Promise<ReplayAnswer<LogicResult>> {
    return (await this.provider.post(`replay/${pathOf(run)}/test`, { recording, test })) as ReplayAnswer<LogicResult>;
  }

  async cancelReplay(run: string): Promise<void> {
    await this.provider.post(`replay/${pathOf(run)}/cancel`, {});
  }

  /** What-ifs stored beside the run; saves the given ones first. */
  async whatIfs(run: string, recording: string, save?: SavedWhatIfs): Promise<SavedWhatIfs> {
    const body = save === undefined ? { recording } : { recording, what_ifs: save };
    return ((await this.provider.post(`replay/${pathOf(run)}/what-ifs`, body)) as { what_ifs: SavedWhatIfs }).what_ifs;
  }

  private json<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
    return this.provider.json(path, query, signal) as Promise<T>;
  }
}

function valueQuery(key: SnapshotKey, selection: string, format: string): Query {
  const { graph, worker, tensor, step, visit } = key;
  return { tensor, step, visit, graph, worker, selection, format };
}
