import InlineWorker from './worker.ts?worker&inline';

/** Starts the layout worker from its code within the page (vite/viewer_page.ts): a page opened as a file can load no worker's file. */
export function startWorker(): Worker {
  return new InlineWorker({ name: 'tensortap layout' });
}
