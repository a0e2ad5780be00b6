/** Starts the layout worker from its file. The static viewer, which is one file, uses inline_worker.ts instead. */
export function startWorker(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'tensortap layout' });
}
