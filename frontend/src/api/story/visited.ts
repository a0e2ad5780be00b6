import type { Provider, Query } from '../provider';
import { queryText } from '../provider';

interface Visit {
  readonly path: string;
  readonly query: Query;
  readonly binary: boolean;
}

/** More than a reader looks at in a sitting; the oldest go. */
const MOST = 400;

/** What is not of a run, or is made anew each time. */
const PASSING = /^(?:runs|changes)$|\/(?:story|tap\.zip|recordings)$/;

/** Remembers what was asked for, so that a story can hold what its maker looked at. */
export class VisitedProvider implements Provider {
  private readonly visits = new Map<string, Visit>();

  constructor(private readonly provider: Provider) {}

  get visited(): readonly Visit[] {
    return [...this.visits.values()];
  }

  async json(path: string, query: Query = {}, signal?: AbortSignal): Promise<unknown> {
    const answer = await this.provider.json(path, query, signal);
    this.note({ path, query, binary: false });
    return answer;
  }

  async bytes(path: string, query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
    const answer = await this.provider.bytes(path, query, signal);
    this.note({ path, query, binary: true });
    return answer;
  }

  post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.provider.post(path, body, signal);
  }

  href(path: string, query?: Query): string {
    return this.provider.href(path, query);
  }

  private note(visit: Visit): void {
    if (PASSING.test(visit.path)) return;
    const key = visit.path + queryText(visit.query);
    this.visits.delete(key);
    this.visits.set(key, visit);
    const oldest = this.visits.keys().next().value;
    if (this.visits.size > MOST && oldest !== undefined) this.visits.delete(oldest);
  }
}
