import { visible } from '../../lib/visible';
import { workerName } from '../../model/worker_names';
import { chosenWorker } from '../../state/choices';
import { overlay } from '../../state/graph';
import { runDetail, workerId } from '../../state/runs';

/** Above a graph without numbers: that the chosen worker captured nothing of it, as where each worker has a graph of its own. */
export function WorkerNotice() {
  const [detail, worker, shown] = [runDetail.value, workerId.value, overlay.data.value];
  if (detail === null || worker === null || shown === null || shown.count > 0) return null;
  return (
    <div class="reading" role="status" data-testid="worker-notice">
      <span>
        {visible(workerName(worker, detail.workers))} captured nothing of this graph at step {shown.step}
        {detail.graphs.length > 1 && '; another graph, at the top, may be its own'}.
      </span>
      <button
        type="button"
        class="button small"
        onClick={() => {
          chosenWorker.value = null;
        }}
      >
        Show all workers
      </button>
    </div>
  );
}
