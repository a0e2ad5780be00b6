import { counted } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import type { WorkerEntry } from '../../model/wire/answers';
import { byRank, workerName } from '../../model/wire/names';
import { Select } from '../kit/Button';

interface WorkerSelectProps {
  side: 'A' | 'B';
  workers: readonly WorkerEntry[];
  chosen: string | null;
  choose: (worker: string | null) => void;
  /** What stands for no choice. */
  none: string;
}

/** Which worker of a run is compared; nothing where there is one only, unless another one was asked for. */
export function WorkerSelect({ side, workers, chosen, choose, none }: WorkerSelectProps) {
  const lost = chosen !== null && !workers.some((worker) => worker.id === chosen);
  if (workers.length < 2 && !lost) return null;
  return (
    <Select
      label={`worker of ${side}`}
      value={chosen ?? ''}
      onChange={(id) => choose(id === '' ? null : id)}
      testid={`compare-worker-${side.toLowerCase()}`}
    >
      <option value="">{none}</option>
      {lost && <option value={chosen}>{visible(chosen)}</option>}
      {byRank(workers).map((worker) => (
        <option key={worker.id} value={worker.id} title={`${worker.host}, pid ${worker.pid}, ${counted(worker.snapshots, 'snapshot')}`}>
          {visible(workerName(worker.id, workers))}
        </option>
      ))}
    </Select>
  );
}
