import { ApiError, NoAnswer, type Provider, type Query, queryText } from './provider';

/** Asks the server that the page came from; addresses are relative to the page, so any path prefix works. */
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
    // Neither header can be sent by a form or a link of another site.
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
      throw new NoAnswer('Check that tensortap is still running; this page tries again by itself.');
    }
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
