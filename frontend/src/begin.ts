import type { Provider } from './api/provider';
import { prepareWorker } from './layout/client';
import { modelPicture } from './state/page/preferences';
import { chooseProvider } from './state/provider';

/** Starts what takes longest and needs little code: the first requests, and the layout worker. */
export function begin(): Promise<Provider> {
  prepareWorker();
  return chooseProvider(modelPicture.peek());
}
