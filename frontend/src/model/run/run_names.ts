import type { RunEntry } from '../wire/answers';

type Named = Pick<RunEntry, 'id' | 'name' | 'logdir'>;

/** What runs are called, by id: their names, after their log directories where several runs have one name. */
export function runNames(runs: readonly Named[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of runs) counts.set(name, (counts.get(name) ?? 0) + 1);
  const nameOf = ({ name, logdir }: Named) => (logdir && counts.get(name) !== 1 ? `${logdir}/${name}` : name);
  return new Map(runs.map((run) => [run.id, nameOf(run)]));
}

/** Whether the runs lie in several log directories. */
export function inSeveralLogdirs(runs: readonly Pick<RunEntry, 'logdir'>[]): boolean {
  return new Set(runs.map((run) => run.logdir)).size > 1;
}
