/** Where the page's data comes from: the `Provider` interface, and the server over HTTP. */

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Source of the page's data: the server (`HttpProvider`), or mock runs (mock/). Paths are those of server/http_api.md without `api/`. */
export interface Provider {
  json(path: string, query?: Query, signal?: AbortSignal): Promise<unknown>;
  bytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** Below `replay/`: makes the server compute, cancel or save. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown>;
  /** An address for a link or an image. */
  href(path: string, query?: Query): string;
}

/** A failed request, worded for users. `status` 0: no answer. */
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

/** A request without an answer; it is repeated when the server answers again. */
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

/** A name as path segments; its slashes stay. */
export function pathOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}

/** Requests go to the page's own server; addresses are relative to the page, so any path prefix works. */
export class HttpProvider implements Provider {
  private readonly base = new URL('api/', document.baseURI);

  href(path: string, query?: Query): string {
    return new URL(path + queryText(query), this.base).href;
  }

  async json(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    return (await this.request(path, query, signal)).json();
  }

  async bytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.request(path, query, signal)).arrayBuffer();
  }

  async post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    // A form or link of another site can send neither header.
    const headers = { 'Content-Type': 'application/json', 'X-Tensortap-Replay': '1' };
    return (await this.request(path, undefined, signal, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  }

  private async request(path: string, query: Query | undefined, signal: AbortSignal | undefined, more?: RequestInit): Promise<Response> {
    let response: Response;
    try {
      // `no-cache` revalidates by ETag: an unchanged answer costs a 304.
      response = await fetch(this.href(path, query), { cache: 'no-cache', credentials: 'same-origin', ...(signal && { signal }), ...more });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new NoAnswer('Is tensortap still running? Retrying…');
    }
    if (response.status === 401)
      throw new ApiError(401, 'The server has a new token.', 'Open the link that it printed: this page then continues.');
    if (!response.ok) throw await failure(response);
    return response;
  }
}

async function failure(response: Response): Promise<ApiError> {
  const answer = (await response.json().catch(() => null)) as { error?: unknown; hint?: unknown } | null;
  const message =
    typeof answer?.error === 'string' ? answer.error : `The server answered ${response.status} ${response.statusText}.`.trim();
  const hint = typeof answer?.hint === 'string' ? answer.hint : '';
  return new ApiError(response.status, message, hint);
}
