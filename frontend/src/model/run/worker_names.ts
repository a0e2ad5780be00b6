import type { WorkerEntry } from '../wire/answers';

/** What the page calls a worker: its rank where no other one has it, else its id (a worker that was started again has the rank of the first). */
export function workerName(id: string, workers: readonly WorkerEntry[]): string {
  const rank = workers.find((worker) => worker.id === id)?.rank ?? null;
  const alone = rank !== null && workers.filter((worker) => worker.rank === rank).length === 1;
  return alone ? `rank ${rank}` : id;
}

/** Workers as people count them: by rank, those without one behind. */
export function byRank(workers: readonly WorkerEntry[]): WorkerEntry[] {
  return [...workers].sort((a, b) => (a.rank ?? Number.MAX_VALUE) - (b.rank ?? Number.MAX_VALUE));
}
