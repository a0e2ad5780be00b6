/** Remembers what the user viewed, so that a story contains it. */

import { toBase64 } from '../../lib/arrays/bytes';
import type { RunEntry } from '../../model/wire/answers';
import type { Provider, Query } from '../provider';
import { queryText } from '../provider';
import { namedQuery, type StoryFile, sameQuery } from './story_file';

interface Visit {
  readonly path: string;
  readonly query: Query;
  readonly binary: boolean;
}

/** More than a user views in one session; the oldest are dropped. */
const MOST = 400;

/** Requests that do not belong to a run, or that change each time. */
const PASSING = /^(?:runs|changes)$|\/(?:story|tap\.zip|recordings)$/;

/** Remembers requests, so that a story contains the views of its author. */
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

/** Maximum characters that visited views may add. */
const MOST_ADDED = 24 * 2 ** 20;

/**
 * Adds the author's views (slices, filters, a comparison) to a story by repeating their requests. Runs in a comparison are listed, with
 * the viewed data.
 */
export async function addVisited(
  story: StoryFile,
  source: VisitedProvider,
  runs: readonly RunEntry[],
  abort?: AbortSignal,
): Promise<StoryFile> {
  const [answers, left] = [[...story.answers], [...story.left_out]];
  const named = new Set<string>([story.run]);
  let added = 0;
  for (const { path, query, binary } of source.visited) {
    const plain = decodeURIComponent(path);
    const of = runs.find(({ id }) => plain === `runs/${id}` || plain.startsWith(`runs/${id}/`));
    const compared = plain.startsWith('diff') && query.a === story.run;
    if (of?.id !== story.run && !compared && !comparedWith(source, story.run, of?.id)) continue;
    if (of) named.add(of.id);
    const asked = namedQuery(query);
    // Also what could be derived from others: those who could tell are the viewer's code.
    if (story.answers.some((each) => each.path === plain && sameQuery(each.query, asked))) continue;
    if (added > MOST_ADDED) {
      left.push('Some open views (size limit).');
      break;
    }
    const answer = await answerOf(source, path, query, binary, abort);
    if (answer === null) continue;
    added += answer.size;
    answers.push({ path: plain, query: asked, ...answer.content });
  }
  const listed = answers.map((answer) => {
    if (answer.path !== 'runs') return answer;
    const others = runs.filter(({ id }) => named.has(id) && id !== story.run).map((entry) => ({ ...entry, live: false }));
    const list = answer.json as { runs: RunEntry[] };
    return { ...answer, json: { ...list, runs: [...list.runs, ...others] } };
  });
  if (named.size > 1) left.push('Other runs, except for the open comparison.');
  return { ...story, answers: listed, left_out: left };
}

/** Whether a run was compared with the run of the story. */
function comparedWith(source: VisitedProvider, run: string, other: string | undefined): boolean {
  return other !== undefined && source.visited.some(({ path, query }) => path === 'diff' && query.a === run && query.b === other);
}

async function answerOf(
  source: VisitedProvider,
  path: string,
  query: object,
  binary: boolean,
  abort?: AbortSignal,
): Promise<{ size: number; content: { json: unknown } | { data: string } } | null> {
  try {
    if (binary) {
      const data = toBase64(new Uint8Array(await source.bytes(path, { ...query }, abort)));
      return { size: data.length, content: { data } };
    }
    const json = await source.json(path, { ...query }, abort);
    if ((json as { working?: boolean } | null)?.working) return null;
    return { size: JSON.stringify(json).length, content: { json } };
  } catch (error) {
    abort?.throwIfAborted();
    if (error instanceof Error) return null; // since removed, or an error before
    throw error;
  }
}
