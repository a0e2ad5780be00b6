/**
 * Requests that the page is sure to make, begun before anything is drawn: the list of runs, the run, its graph. Each of them
 * names the next one, and waiting for the page to be drawn in between takes longer than the answers themselves.
 *
 * What else the page asks for meanwhile waits until the graph is there: a server that looks for problems at the same time
 * took twice as long for the first picture of 200,000 nodes.
 */

import { resolveRunId } from '../model/run/link_errors';
import type { RunDetail, RunList } from '../model/wire/answers';
import { type Provider, pathOf, type Query, queryText } from './provider';

/** An answer nobody took so long after it came would no longer be news; one that is still on its way is. */
const EXPIRY_MS = 5000;
/** A graph that takes longer keeps nothing else waiting. */
const GRAPH_FIRST_MS = 2000;

/** Ids that the server hands out end in eight hexadecimal digits. */
const ENDS_LIKE_AN_ID = /-[0-9a-f]{8}$/;

/** What the address asks for; null for what is best by default. */
interface FirstRequest {
  readonly run: string | null;
  readonly graph: string | null;
}

export class Prefetch implements Provider {
  /** Fulfilled once the graph is asked for, or a request before it failed. */
  readonly underWay: Promise<void>;
  /** The graph's answer; undefined where there is none. */
  readonly graph: Promise<ArrayBuffer | undefined>;
  /** Fulfilled once the graph's answer is there, will not come, or is late. */
  private readonly graphThere: Promise<unknown>;
  private readonly begun = new Map<string, Promise<unknown>>();
  /** When answers came. */
  private readonly came = new Map<string, number>();

  constructor(
    private readonly provider: Provider,
    wanted: FirstRequest,
    private readonly now: () => number = () => performance.now(),
  ) {
    // A failure is reported to whoever asks for the answer.
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

  /** The graph's answer; in an object, because waiting for this one is not waiting for that one. */
  private async begin({ run, graph }: FirstRequest): Promise<{ answer: Promise<ArrayBuffer> } | undefined> {
    const list = this.keep<RunList>('runs', this.provider.json('runs'));
    // A name is asked for by the id that the list gives it; an id needs not wait for the list.
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

  /** Hands out an answer once. */
  private take<T>(key: string): Promise<T> | undefined {
    for (const [other, at] of this.came) if (this.now() - at > EXPIRY_MS) this.begun.delete(other);
    const answer = this.begun.get(key);
    this.begun.delete(key);
    return answer as Promise<T> | undefined;
  }
}

/** The newest run, or the one that is called so; undefined where there is none. */
function idOf(run: string | null, { runs }: RunList): string | undefined {
  const id = run === null ? runs[0]?.id : resolveRunId(run, runs);
  return runs.some((entry) => entry.id === id) ? id : undefined;
}
