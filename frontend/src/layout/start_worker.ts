/** Starts the layout worker, a file of its own. The static viewer, which has no other files, takes inline_worker.ts instead. */
export function startWorker(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'tensortap layout' });
}
