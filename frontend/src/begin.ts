import type { Provider } from './api/provider';
import { prepareWorker } from './layout/client';
import { modelPicture } from './state/page/preferences';
import { chooseProvider } from './state/provider';

/** Begins what takes longest and needs little code: the first requests, and the worker that lays out the graph. */
export function begin(): Promise<Provider> {
  prepareWorker();
  return chooseProvider(modelPicture.peek());
}
