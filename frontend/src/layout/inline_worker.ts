import InlineWorker from './worker.ts?worker&inline';

/** Starts the layout worker from code inside the page (vite/viewer_page.ts): a page opened from disk cannot load a worker's file. */
export function startWorker(): Worker {
  return new InlineWorker({ name: 'tensortap layout' });
}
