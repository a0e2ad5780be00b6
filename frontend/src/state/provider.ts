import { Api } from '../api/api';
import { Prefetch } from '../api/prefetch';
import type { Provider } from '../api/provider';
import { HttpProvider } from '../api/provider';
import { VisitedProvider } from '../api/story/visited';
import { beginLayout, computeLayers } from '../layout/client';
import { stateFromHost } from '../lib/host_page';
import { decodeLink, namesView, type View } from '../model/run/deep_link';
import { decodeGraph } from '../model/wire/graph';

const MOST_PATIENCE_MS = 60;

let current: Api | null = null;
let visited: VisitedProvider | null = null;

/** The page's data source; chosen once at the start. */
export function api(): Api {
  if (!current) throw new Error('the provider is chosen in mount.tsx before the page is shown');
  return current;
}

export function useProvider(provider: Provider): void {
  visited = new VisitedProvider(provider);
  current = new Api(visited);
}

/** Requests so far. */
export function visitedAnswers(): VisitedProvider {
  if (!visited) throw new Error('the provider is chosen in mount.tsx before the page is shown');
  return visited;
}

/**
 * The server, with prefetch for the address (`picture`: the view, if the address has none); in development, `?mock=1` (or `?mock=empty`)
 * uses mock runs instead.
 */
export async function chooseProvider(picture: View): Promise<Provider> {
  if (import.meta.env.DEV) {
    const mock = new URLSearchParams(location.search).get('mock');
    if (mock) return new (await import('../api/mock/mock_provider')).MockProvider(mock === 'empty');
  }
  const hash = location.hash || stateFromHost();
  const link = decodeLink(hash);
  const view = namesView(hash) ? link.view : picture;
  const ahead = new Prefetch(new HttpProvider(), link);
  ahead.graph
    .then((answer) => {
      const whole = link.part === 'all';
      if (answer && (view === 'layers' || (view === 'graph' && !whole))) void computeLayers(decodeGraph(answer));
      else if (answer && view === 'graph') beginLayout({ open: link.open, ungrouped: link.unstacked, graph: decodeGraph(answer) });
    })
    .catch(() => undefined); // the caller that requests the graph gets its error
  // Answers should not wait for the first drawing; a slow server does not delay the page.
  await Promise.race([ahead.underWay, new Promise((resolve) => setTimeout(resolve, MOST_PATIENCE_MS))]);
  return ahead;
}
