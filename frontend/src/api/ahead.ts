/**
 * Requests that the page is sure to make, begun before anything is drawn: the list of runs, the run, its graph. Each of them
 * names the next one, and waiting for the page to be drawn in between takes longer than the answers themselves.
 */

import type { RunDetail, RunList } from '../model/answers';
import { type Provider, pathOf, type Query, queryText } from './provider';

/** An answer nobody took by then would no longer be news. */
const KEPT_MS = 5000;

/** What the address asks for; null for what is best by default. */
export interface Wanted {
  readonly run: string | null;
  readonly graph: string | null;
}

export class Ahead implements Provider {
  /** Fulfilled once the graph is asked for, or a request before it failed. */
  readonly underWay: Promise<void>;
  private readonly begun = new Map<string, Promise<unknown>>();

  constructor(
    private readonly provider: Provider,
    wanted: Wanted,
    private readonly now: () => number = () => performance.now(),
    private readonly start = now(),
  ) {
    // A failure is told to whoever asks for the answer.
    this.underWay = this.begin(wanted).catch(() => undefined);
  }

  json(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    return this.take<unknown>(path + queryText(query)) ?? this.provider.json(path, query, signal);
  }

  bytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return this.take<ArrayBuffer>(path + queryText(query)) ?? this.provider.bytes(path, query, signal);
  }

  href(path: string, query?: Query): string {
    return this.provider.href(path, query);
  }

  private async begin({ run, graph }: Wanted): Promise<void> {
    const list = this.keep<RunList>('runs', this.provider.json('runs'));
    const id = run ?? (await list).runs[0]?.id;
    if (id === undefined) return;
    const path = `runs/${pathOf(id)}`;
    const { graphs } = await this.keep<RunDetail>(path, this.provider.json(path));
    const shown = graphs.find((entry) => entry.id === graph) ?? graphs[0];
    if (shown) void this.keep(`${path}/graphs/${pathOf(shown.id)}`, this.provider.bytes(`${path}/graphs/${pathOf(shown.id)}`));
  }

  private keep<T>(key: string, answer: Promise<unknown>): Promise<T> {
    this.begun.set(key, answer);
    answer.catch(() => undefined);
    return answer as Promise<T>;
  }

  /** Hands out an answer once. */
  private take<T>(key: string): Promise<T> | undefined {
    if (this.now() - this.start > KEPT_MS) this.begun.clear();
    const answer = this.begun.get(key);
    this.begun.delete(key);
    return answer as Promise<T> | undefined;
  }
}
