/**
 * Requests that the page always makes, sent before anything is drawn: the list of runs, the run, its graph. Each names the next one;
 * drawing the page in between would take longer than the answers. Other requests wait for the graph: a server that searched for problems
 * at the same time took twice as long for the first picture of 200,000 nodes.
 */

import { resolveRunId } from '../model/run/link_errors';
import type { RunDetail, RunList } from '../model/wire/answers';
import { type Provider, pathOf, type Query, queryText } from './provider';

/** An unused answer is stale after this time; a pending one is not. */
const EXPIRY_MS = 5000;
/** Other requests do not wait longer than this for the graph. */
const GRAPH_FIRST_MS = 2000;

/** Ids of the server end in eight hexadecimal digits. */
const ENDS_LIKE_AN_ID = /-[0-9a-f]{8}$/;

/** What the address requests; null for the default. */
interface FirstRequest {
  readonly run: string | null;
  readonly graph: string | null;
}

export class Prefetch implements Provider {
  /** Resolved when the graph is requested, or an earlier request failed. */
  readonly underWay: Promise<void>;
  /** The graph's answer; undefined if there is none. */
  readonly graph: Promise<ArrayBuffer | undefined>;
  /** Resolved when the graph's answer arrived, failed, or is late. */
  private readonly graphThere: Promise<unknown>;
  private readonly begun = new Map<string, Promise<unknown>>();
  /** When answers arrived. */
  private readonly came = new Map<string, number>();

  constructor(
    private readonly provider: Provider,
    wanted: FirstRequest,
    private readonly now: () => number = () => performance.now(),
  ) {
    // The caller that uses the answer reports a failure.
    const begun = this.begin(wanted).catch(() => undefined);
    this.underWay = begun.then(() => undefined);
    this.graph = begun.then((graph) => graph?.answer).catch(() => undefined);
    const late = new Promise((resolve) => setTimeout(resolve, GRAPH_FIRST_MS));
    this.graphThere = Promise.race([this.graph, late]);
  }

  async json(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    const begun = this.take<unknown>(path + queryText(query));
    if (!begun) await this.graphThere;
    return begun ?? this.provider.json(path, query, signal);
  }

  async bytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    const begun = this.take<ArrayBuffer>(path + queryText(query));
    if (!begun) await this.graphThere;
    return begun ?? this.provider.bytes(path, query, signal);
  }

  post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.provider.post(path, body, signal);
  }

  href(path: string, query?: Query): string {
    return this.provider.href(path, query);
  }

  /** The graph's answer, wrapped in an object so that awaiting the wrapper does not await the answer. */
  private async begin({ run, graph }: FirstRequest): Promise<{ answer: Promise<ArrayBuffer> } | undefined> {
    const list = this.keep<RunList>('runs', this.provider.json('runs'));
    // A name must wait for the list, which has its id; an id need not.
    const id = run !== null && ENDS_LIKE_AN_ID.test(run) ? run : idOf(run, await list);
    if (id === undefined) return undefined;
    const path = `runs/${pathOf(id)}`;
    const { graphs } = await this.keep<RunDetail>(path, this.provider.json(path));
    const shown = graphs.find((entry) => entry.id === graph) ?? graphs[0];
    if (!shown) return undefined;
    const place = `${path}/graphs/${pathOf(shown.id)}`;
    return { answer: this.keep(place, this.provider.bytes(place)) };
  }

  private keep<T>(key: string, answer: Promise<unknown>): Promise<T> {
    this.begun.set(key, answer);
    const note = () => this.came.set(key, this.now());
    answer.then(note, note);
    return answer as Promise<T>;
  }

  /** Returns an answer once. */
  private take<T>(key: string): Promise<T> | undefined {
    for (const [other, at] of this.came) if (this.now() - at > EXPIRY_MS) this.begun.delete(other);
    const answer = this.begun.get(key);
    this.begun.delete(key);
    return answer as Promise<T> | undefined;
  }
}

/** The newest run, or the run with this name; undefined if there is none. */
function idOf(run: string | null, { runs }: RunList): string | undefined {
  const id = run === null ? runs[0]?.id : resolveRunId(run, runs);
  return runs.some((entry) => entry.id === id) ? id : undefined;
}
