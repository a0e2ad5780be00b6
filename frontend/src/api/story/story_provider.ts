import { fromBase64 } from '../../lib/arrays/bytes';
import { decodeColumns } from '../../lib/arrays/columns';
import { type ColumnSource, encodeColumns } from '../encode';
import { ApiError, type Provider, type Query } from '../provider';
import { selectNpy } from './select_npy';
import { type NamedQuery as Named, namedQuery, type RecordedAnswer, type StoryFile, sameQuery } from './story_file';

type Row = Record<string, unknown>;
/** Answers from a story, without a server. A request that was not recorded is an error with a message, never an empty answer. */
export class StoryProvider implements Provider {
  private readonly answers = new Map<string, RecordedAnswer[]>();

  constructor(story: StoryFile) {
    for (const answer of story.answers) {
      const known = this.answers.get(answer.path);
      if (known) known.push(answer);
      else this.answers.set(answer.path, [answer]);
    }
  }

  async post(): Promise<unknown> {
    throw new ApiError(403, 'A story cannot run computations.', 'Open the run itself: tensortap serve LOGDIR --allow-replay.');
  }

  /** Content of a download: the recorded bytes. */
  href(path: string, query: Query = {}): string {
    const found = this.exact(decodeURIComponent(path), namedQuery(query));
    return found?.data === undefined ? 'data:,' : `data:application/octet-stream;base64,${found.data}`;
  }

  async json(encoded: string, query: Query = {}): Promise<unknown> {
    const [path, asked] = [decodeURIComponent(encoded), namedQuery(query)];
    if (path === 'changes') return { cursor: 'story', runs: {} };
    const found = this.exact(path, asked);
    if (found?.json !== undefined) return found.json;
    const noun = path.split('/').at(-1);
    if (noun === 'recordings') return { allowed: false, hint: 'A story cannot replay: open the run itself.', recordings: [], tests: [] };
    if (noun === 'most-similar') return { run: null, common: 0 };
    const derived =
      noun === 'snapshots'
        ? this.snapshots(path, asked)
        : noun === 'histograms'
          ? this.histograms(path, asked)
          : noun === 'history'
            ? this.history(path, asked)
            : null;
    if (derived === null) throw notHeld();
    return derived;
  }

  async bytes(encoded: string, query: Query = {}): Promise<ArrayBuffer> {
    const [path, asked] = [decodeURIComponent(encoded), namedQuery(query)];
    const found = this.exact(path, asked);
    if (found?.data !== undefined) return fromBase64(found.data).buffer;
    const noun = path.split('/').at(-1);
    const derived =
      noun === 'value'
        ? this.value(path, asked)
        : noun === 'histograms'
          ? this.someRows(path, without(asked, 'tensors'), 'tensors', (asked.tensors ?? '').split(','))
          : noun === 'trends'
            ? this.someRows(path, without(asked, 'nodes'), 'nodes', (asked.nodes ?? '').split(','))
            : null;
    if (derived === null) throw notHeld();
    return derived;
  }

  private exact(path: string, asked: Named): RecordedAnswer | undefined {
    return this.answers.get(path)?.find(({ query }) => sameQuery(query, asked));
  }

  /** The table at the recorded steps, filtered by name and sorted; conditions need the server. */
  private snapshots(path: string, asked: Named): unknown {
    if (asked.where) throw new ApiError(404, 'A story cannot filter by a condition.', 'Filter by name, or open the run itself.');
    const pages = (this.answers.get(path) ?? []).filter(({ query }) => {
      const sameStep = asked.step === undefined || inRange(Number(query.step), asked.step);
      return sameStep && isWholeTable(query) && (asked.graph === undefined || query.graph === asked.graph);
    });
    if (pages.length === 0) return null;
    const pattern = nameFilter(asked.match);
    let rows = pages.flatMap(({ json }) => (json as { rows: Row[] }).rows).filter((row) => pattern(String(row.tensor)));
    for (const key of ['tensor', 'node', 'worker', 'op_type', 'layer', 'dtype'])
      if (asked[key] !== undefined) rows = rows.filter((row) => row[key] === asked[key]);
    if (asked.kept) rows = rows.filter(({ kept }) => kept);
    if (asked.nonfinite) rows = rows.filter((row) => Number(row.nan) + Number(row.pos_inf) + Number(row.neg_inf) > 0);
    // Trends of a statistic that was not recorded are not drawn.
    if (asked.trend !== 'abs_max') rows = rows.map(({ trend: _, ...row }) => row);
    rows = sorted(rows, asked.sort ?? 'step');
    const [offset, limit] = [Number(asked.offset ?? 0), Number(asked.limit ?? 100)];
    const place = rows.findIndex((row) => row.tensor === asked.at && String(row.step) === asked.at_step);
    return { total: rows.length, rows: rows.slice(offset, offset + limit), ...(asked.at && { place: place < 0 ? null : place }) };
  }

  /** Selects steps, or the only iteration, from the histograms over all of them. */
  private histograms(path: string, asked: Named): unknown {
    const { visit, steps, ...rest } = asked;
    if (visit !== undefined && !this.isOnlyVisit(path, rest, visit)) return null;
    const whole = this.exact(path, rest)?.json as { rows: Row[] } | undefined;
    if (steps === undefined) return whole ?? null;
    const rows = whole?.rows.filter(({ step }) => inRange(Number(step), steps)) ?? [];
    return rows.length === 0 ? null : { ...whole, rows };
  }

  /** Whether a tensor ran once per step, so that all iterations together are that one. */
  private isOnlyVisit(path: string, { tensor, graph }: Named, visit: string): boolean {
    const asked = namedQuery({ tensor, graph });
    const found = this.exact(path.replace(/histograms$/, 'history'), asked)?.json as { columns: { visit?: unknown[] } } | undefined;
    return found?.columns.visit?.every((one) => String(one) === visit) ?? false;
  }

  /** Selects steps, one iteration or one worker from the history of all. */
  private history(path: string, asked: Named): unknown {
    const { steps, visit, worker, ...rest } = asked;
    const whole = this.exact(path, rest)?.json as { columns: Record<string, unknown[]> } | undefined;
    if (!whole) return null;
    const { columns } = whole;
    const chosen = (columns.step ?? []).map(
      (step, i) =>
        (steps === undefined || inRange(Number(step), steps)) &&
        (visit === undefined || String(columns.visit?.[i]) === visit) &&
        (worker === undefined || columns.worker?.[i] === worker),
    );
    const kept = Object.entries(columns).map(([name, column]) => [name, column.filter((_, i) => chosen[i])]);
    return { ...whole, columns: Object.fromEntries(kept) };
  }

  private value(path: string, asked: Named): ArrayBuffer | null {
    const { selection = '', ...rest } = asked;
    const whole = this.exact(path, rest)?.data;
    return whole === undefined ? null : selectNpy(fromBase64(whole).buffer, selection);
  }

  /** Selects the rows of some tensors (`row:slot`) or nodes from answers with more. */
  private someRows(path: string, asked: Named, key: 'tensors' | 'nodes', wanted: readonly string[]): ArrayBuffer | null {
    const parts = (this.answers.get(path) ?? []).filter(({ query, data }) => data && sameQuery(without(query, key), asked));
    if (parts.length === 0) return null;
    const decoded = parts.map(({ data }) => decodeColumns(fromBase64(data!).buffer));
    const left = new Set(wanted);
    for (const { query } of parts) for (const name of query[key]!.split(',')) left.delete(name);
    if (left.size === wanted.length) return null;
    const bins = key === 'tensors' ? Number(decoded[0]!.meta.bins ?? 0) : 1;
    const names = key === 'tensors' ? (['low', 'high', 'counts'] as const) : (['step', 'value'] as const);
    const [node, slot, health] = [[] as number[], [] as number[], [] as number[]];
    const numbers = new Map(names.map((name) => [name as string, [] as number[]]));
    const all = new Set(wanted);
    for (const [part, columns] of decoded.entries()) {
      const rows = columns.i32('node');
      const slots = key === 'tensors' ? columns.i32('slot') : null;
      const healths = key === 'nodes' ? columns.u8('health') : null;
      rows.forEach((row, i) => {
        if (!all.has(slots ? `${row}:${slots[i]}` : String(row))) return;
        node.push(row);
        slot.push(slots?.[i] ?? 0);
        health.push(healths?.[i] ?? 0);
        for (const name of names) {
          const width = name === 'counts' ? bins : 1;
          const out = numbers.get(name)!;
          for (const number of columns.f64(name).subarray(i * width, (i + 1) * width)) out.push(number);
        }
      });
      // Views of the author may be of the same nodes.
      for (const name of parts[part]!.query[key]!.split(',')) all.delete(name);
    }
    const out: Record<string, ColumnSource> = { node: Int32Array.from(node) };
    if (key === 'tensors') out.slot = Int32Array.from(slot);
    else out.health = Uint8Array.from(health);
    for (const [name, values] of numbers) out[name] = Float64Array.from(values);
    return encodeColumns({ ...decoded[0]!.meta }, out);
  }
}

/** Whether an answer is a page of all tensors at a step, as the server records it, and not of visited tensors only. */
function isWholeTable(query: Named): boolean {
  const filters = ['tensor', 'node', 'match', 'where', 'op_type', 'layer', 'worker', 'dtype', 'kept', 'nonfinite', 'at'];
  return query.sort === 'flow' && query.limit === '1000' && query.step !== undefined && filters.every((key) => query[key] === undefined);
}

function notHeld(): ApiError {
  return new ApiError(404, 'This story does not contain that part of the run.', 'Open the run itself with tensortap serve to see it.');
}

function without(query: Named, key: string): Named {
  const { [key]: _, ...rest } = query;
  return rest;
}

/** Whether a step is within `7`, `3:10`, `3:` or `:10`. */
function inRange(step: number, range: string): boolean {
  if (!range.includes(':')) return step === Number(range);
  const [first, stop] = range.split(':');
  return step >= Number(first || 0) && (!stop || step < Number(stop));
}

/** RE2 patterns mostly have the same meaning here; invalid ones are searched as text. */
function nameFilter(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined) return () => true;
  const text = pattern.replace(/^\(\?i\)/, '');
  try {
    const found = new RegExp(text, text === pattern ? '' : 'i');
    return (name) => found.test(name);
  } catch {
    return (name) => name.includes(text);
  }
}

/** Rows are in data flow order, step by step. NaN sorts last in both directions. */
function sorted(rows: Row[], by: string): Row[] {
  const name = by.replace(/^-/, '');
  const sign = by.startsWith('-') ? -1 : 1;
  if (name === 'flow') return sign > 0 ? rows : rows.toReversed();
  const sizes: Record<string, (row: Row) => number> = {
    zero_share: (row) => Number(row.zero) / Number(row.size),
    inf: (row) => Number(row.pos_inf) + Number(row.neg_inf),
  };
  const key = sizes[name] ?? ((row: Row) => row[name]);
  const texts = new Set(['tensor', 'node', 'op_type', 'layer', 'worker', 'dtype', 'device']);
  return rows.toSorted((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (texts.has(name)) return sign * naturalOrder(String(left), String(right));
    const [x, y] = [Number(left ?? Number.NaN), Number(right ?? Number.NaN)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return sign * (x - y);
  });
}

/** Numbers within names by value, otherwise by characters, capitals first, as the server sorts. */
function naturalOrder(a: string, b: string): number {
  const [left, right] = [a.split(/(\d+)/), b.split(/(\d+)/)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [x, y] = [left[i]!, right[i]!];
    const order = i % 2 ? Number(x) - Number(y) : Number(x > y) - Number(x < y);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
