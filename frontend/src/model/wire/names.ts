/** Names of tensors, runs, workers and graphs as the page shows them. */

import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { GraphEntry, RunEntry, StepSpan, WorkerEntry } from './answers';

/** `node:slot`; a name without a slot means slot 0. */
interface TensorName {
  node: string;
  slot: number;
}

export function parseTensorName(name: string): TensorName {
  const found = /^(.*):(\d+)$/s.exec(name);
  return found ? { node: found[1] as string, slot: Number(found[2]) } : { node: name, slot: 0 };
}

export function tensorName(node: string, slot: number): string {
  return `${node}:${slot}`;
}

/** Splits a name for display: the scope (with its last `/`) and the node's label; invisible characters are escaped. */
export function splitScope(name: string): { scope: string; label: string } {
  const shown = visible(name);
  const cut = shown.lastIndexOf('/') + 1;
  return { scope: shown.slice(0, cut), label: shown.slice(cut) };
}

type Named = Pick<RunEntry, 'id' | 'name' | 'logdir'>;

/** Display names of runs, by id: their names, after their log directories if a name is not unique. */
export function runNames(runs: readonly Named[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of runs) counts.set(name, (counts.get(name) ?? 0) + 1);
  const nameOf = ({ name, logdir }: Named) => (logdir && counts.get(name) !== 1 ? `${logdir}/${name}` : name);
  return new Map(runs.map((run) => [run.id, nameOf(run)]));
}

/** A run that is gone, by the name in its id (`cnn-1a2b3c4d`); also an id that is only a name. */
export function missingRunName(id: string): string {
  return `${visible(id.replace(/-[0-9a-f]{8}$/, ''))} (not found)`;
}

/** Whether the runs are in several log directories. */
export function inSeveralLogdirs(runs: readonly Pick<RunEntry, 'logdir'>[]): boolean {
  return new Set(runs.map((run) => run.logdir)).size > 1;
}

/** Display name of a worker: its rank if unique, else its id (a restarted worker has the rank of the first). */
export function workerName(id: string, workers: readonly WorkerEntry[]): string {
  const rank = workers.find((worker) => worker.id === id)?.rank ?? null;
  const alone = rank !== null && workers.filter((worker) => worker.rank === rank).length === 1;
  return alone ? `rank ${rank}` : id;
}

/** Workers by rank; those without one last. */
export function byRank(workers: readonly WorkerEntry[]): WorkerEntry[] {
  return [...workers].sort((a, b) => (a.rank ?? Number.MAX_VALUE) - (b.rank ?? Number.MAX_VALUE));
}

/** By rank, but those that lost data, or wrote less than others by more than 2 %, come first. */
export function worstFirst(workers: readonly WorkerEntry[]): WorkerEntry[] {
  const most = Math.max(...workers.map(({ snapshots }) => snapshots));
  const isWhole = ({ dropped, damage, snapshots }: WorkerEntry) => Number(dropped + damage.length === 0 && snapshots >= 0.98 * most);
  return byRank(workers).sort((a, b) => isWhole(a) - isWhole(b));
}

/** State of a worker or run, in the words of `tensortap info`: `not closed` was killed, or is in a long step. */
export function writingState({ closed, live }: { closed: boolean; live: boolean }): 'closed' | 'live' | 'not closed' {
  if (closed) return 'closed';
  return live ? 'live' : 'not closed';
}

/** A graph in a menu. */
interface GraphChoice {
  id: string;
  name: string;
  detail: string;
}

/** Labels for the graphs of a run: functions traced several times share a name, so duplicates get their steps. */
export function graphChoices(graphs: readonly GraphEntry[]): GraphChoice[] {
  const names = graphs.map((graph) => (graph.id === '-' ? 'without a graph' : graph.name || graph.id));
  return graphs.map((graph, i) => {
    const name = names[i] as string;
    const shared = names.indexOf(name) !== names.lastIndexOf(name);
    const captured = graph.snapshots === 0 ? 'no snapshots' : `${spanText(graph.steps)} · ${counted(graph.snapshots, 'snapshot')}`;
    return {
      id: graph.id,
      name: shared ? `${name} · ${graph.snapshots === 0 ? 'no snapshots' : spanText(graph.steps)}` : name,
      detail: `${captured} · ${counted(graph.nodes, 'node')}`,
    };
  });
}

function spanText({ first, last }: StepSpan): string {
  return first === last ? `step ${first}` : `steps ${first}…${last}`;
}

/** Short, distinct names: each node's label, with as many scopes before it as needed. */
export function shortNames(tensors: readonly string[]): string[] {
  const parts = tensors.map((tensor) => {
    const { scope, label } = splitScope(tensor);
    return [...scope.split('/').filter(Boolean), label];
  });
  const text = (place: number, taken: number) => (parts[place] as string[]).slice(-taken).join('/');
  return tensors.map((_, i) => {
    let taken = 1;
    const longest = (parts[i] as string[]).length;
    while (taken < longest && tensors.some((_, j) => j !== i && text(j, taken) === text(i, taken))) taken++;
    return text(i, taken);
  });
}
