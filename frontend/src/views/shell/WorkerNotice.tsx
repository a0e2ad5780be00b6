import { visible } from '../../lib/visible_text';
import { workerName } from '../../model/wire/names';
import { overlay } from '../../state/graph';
import { graphId, graphOfWorker, runDetail, workerId } from '../../state/runs';
import { chooseGraph, chooseWorker } from '../../state/selection';

/** Above a graph without numbers: that the chosen worker captured nothing of it, as where each worker has a graph of its own. */
export function WorkerNotice() {
  const [detail, worker, shown] = [runDetail.value, workerId.value, overlay.data.value];
  if (detail === null || worker === null || shown === null || shown.count > 0) return null;
  const own = graphOfWorker(worker);
  return (
    <div class="reading" role="status" data-testid="worker-notice">
      <span>
        {visible(workerName(worker, detail.workers))} captured nothing of this graph at step {shown.step}
        {own && own.id !== graphId.value && `; its own is ${visible(own.name)}`}.
      </span>
      {own && own.id !== graphId.value && (
        <button type="button" class="button small" onClick={() => chooseGraph(own.id)} data-testid="own-graph">
          Show its graph
        </button>
      )}
      <button type="button" class="button small" onClick={() => chooseWorker(null)}>
        Show all workers
      </button>
    </div>
  );
}
