export type Query = Record<string, string | number | boolean | null | undefined>;

/** Where the page's data comes from: the server (http.ts), or made-up runs (mock/). Paths are those of server/http_api.md without `api/`. */
export interface Provider {
  json(path: string, query?: Query, signal?: AbortSignal): Promise<unknown>;
  bytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** Below `replay/`: makes the server compute, cancel or save. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown>;
  /** An address that a link or an image can use. */
  href(path: string, query?: Query): string;
}

/** A request that failed, worded for people. `status` 0: no answer at all. */
export class ApiError extends Error {
  override name = 'ApiError';

  constructor(
    readonly status: number,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

/** A request that nobody answered: it is asked again once somebody does. */
export class NoAnswer extends ApiError {
  constructor(hint: string) {
    super(0, 'The server does not answer.', hint);
  }
}

export function queryText(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === true) search.set(key, '1');
    else if (value !== null && value !== undefined && value !== false && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** A name as path segments: its slashes stay. */
export function pathOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}
