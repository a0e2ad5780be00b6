import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { visible } from '../../lib/text/visible_text';
import { PART_TITLES } from '../../model/layers/parts';
import { workerName } from '../../model/wire/names';
import { comparison, graphColour } from '../../state/compare/comparison';
import { isOtherSought } from '../../state/compare/manual_matches';
import { isOtherWorkerSought } from '../../state/compare/other_worker';
import { colourBy, graph, overlay } from '../../state/graph/graph';
import {
  choosePart,
  chosenDrawnScope,
  drawnBookmarks,
  drawnGraph,
  drawnPathStart,
  drawnTrace,
  part,
  parts,
  selectDrawnScope,
  startDrawnTrace,
} from '../../state/graph/parts';
import { keepPlace } from '../../state/page/address';
import { toggleBookmark } from '../../state/page/bookmarks';
import { openScopes, trace, ungrouped, view } from '../../state/page/choices';
import { theme } from '../../state/page/preferences';
import { chainRows, chainShown, report } from '../../state/problems/findings';
import { computedOverlay } from '../../state/replay/replay';
import { replayColour } from '../../state/replay/replay_cursor';
import { detailOutdated, graphId, graphOfWorker, run, runDetail, runEntry, workerId } from '../../state/runs';
import { chooseGraph, chooseWorker, clearTrace, selectedNode, selectNode } from '../../state/selection';
import { step } from '../../state/steps';
import { nodeTrends, trendNodes } from '../../state/tensors/node_trends';
import { Segmented, Switch } from '../kit/Button';
import { Failure } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { currentGraphView } from './canvas/navigation';
import { GraphPane } from './GraphPane';

/** The graph view, below messages about its colouring. */
export function GraphView() {
  return (
    <>
      <DifferenceNotice />
      <WorkerNotice />
      <PartBar />
      <RunGraph />
    </>
  );
}

/** Menu for the visible part of the step. */
function PartBar() {
  if (parts.value.length < 2) return null;
  const options = parts.value.map((value) => ({ value, label: PART_TITLES[value] }));
  return (
    <div class="reading part-bar" data-testid="parts">
      <Segmented label="Part of the step" options={options} value={part.value} onChange={choosePart} />
    </div>
  );
}

/** The graph of the current run, in the graph view and in a replay. */
export function RunGraph() {
  useEffect(() => {
    reported = openScopes.peek(); // the pane has just been given them
    return effect(followAddress);
  }, []);
  const failed = graph.error.value ?? run.error.value;
  if (graph.data.value === null && failed) return <Failure error={failed} retry={graph.error.value ? graph.reload : run.reload} />;
  if (run.data.value !== null && run.data.value.graphs.length === 0 && !detailOutdated.value) return <NothingCaptured />;
  return (
    <div class="pane-body">
      <GraphPane
        graph={drawnGraph.value}
        overlay={view.value === 'stepper' ? computedOverlay.data.value : overlay.data.value}
        selected={selectedNode.value ?? (chosenDrawnScope.value === null ? null : `${chosenDrawnScope.value}/`)}
        bookmarks={drawnBookmarks.value}
        onBookmark={toggleBookmark}
        colour={view.value === 'stepper' ? replayColour.value : graphColour.value}
        theme={theme.value}
        subject={[runEntry.value?.name ?? '', graph.data.value?.name ?? '', ...(step.value === null ? [] : [`step ${step.value}`])]}
        chain={chainRows.value}
        ungrouped={ungrouped.value}
        trace={drawnTrace.value}
        pathStart={drawnPathStart.value}
        onSelect={(name) => (name?.endsWith('/') ? selectDrawnScope(name.slice(0, -1)) : selectNode(name))}
        trends={nodeTrends.value}
        onTrends={(graph, rows) => {
          trendNodes.value = { graph, rows };
        }}
        onUngroup={(paths) => {
          ungrouped.value = paths;
        }}
        onTrace={(kind, name) => (kind ? startDrawnTrace(kind, name) : clearTrace())}
        onRetrace={({ kind }) => {
          trace.value = trace.value && { ...trace.value, kind };
        }}
        onModel={(model) => {
          currentGraphView.value = model;
        }}
        {...(openScopes.peek() && { expandedScopes: openScopes.peek() ?? [] })}
        onLeave={keepPlace}
        onExpandedChange={(scopes) => keepOpenScopes(drawnGraph.value?.id ?? '', scopes)}
      />
    </div>
  );
}

/** Shows or hides the path from origin to loss on the graph. */
export function ChainSwitch() {
  if ((report.value?.chain.length ?? 0) < 2 || !report.value?.chain.some((link) => link.graph === graph.data.value?.id)) return null;
  const toggle = () => {
    chainShown.value = !chainShown.value;
  };
  return (
    <Switch
      label="NaN path"
      on={chainShown.value}
      onChange={toggle}
      title="Highlight the NaN's path from its origin to the loss"
      testid="chain"
    />
  );
}

/** Scopes that each graph expands automatically, which the address omits. */
const opensByItself = new Map<string, readonly string[]>();

/** The expanded scopes last reported by the graph; different ones come from the address, e.g. by "back". */
let reported: readonly string[] | null = null;

function keepOpenScopes(id: string, scopes: readonly string[]): void {
  if (openScopes.peek() === null && !opensByItself.has(id)) opensByItself.set(id, scopes);
  reported = opensByItself.get(id)?.join() === scopes.join() ? null : scopes;
  openScopes.value = reported;
}

/** Expands the scopes in the address; a loading graph gets them when it arrives. */
function followAddress(): void {
  const [scopes, id] = [openScopes.value, drawnGraph.peek()?.id];
  if (scopes === reported || id === undefined || graph.data.peek()?.id !== graphId.peek()) return;
  const wanted = scopes ?? opensByItself.get(id);
  if (wanted) currentGraphView.peek()?.reopen(wanted);
}

/** Above a graph without numbers: the chosen worker captured nothing of it, e.g. because each worker has its own graph. */
export function WorkerNotice() {
  const [detail, worker, shown] = [runDetail.value, workerId.value, overlay.data.value];
  if (detail === null || worker === null || shown === null || shown.count > 0) return null;
  const own = graphOfWorker(worker);
  return (
    <div class="reading" role="status" data-testid="worker-notice">
      <span>
        {visible(workerName(worker, detail.workers))} captured no tensors of this graph at step {shown.step}
        {own && own.id !== graphId.value && `; it ran ${visible(own.name)}`}.
      </span>
      {own && own.id !== graphId.value && (
        <button type="button" class="button small" onClick={() => chooseGraph(own.id)} data-testid="own-graph">
          Show that graph
        </button>
      )}
      <button type="button" class="button small" onClick={() => chooseWorker(null)}>
        Show all workers
      </button>
    </div>
  );
}

/** Above a graph without the requested colouring by difference: that the comparison is running, or why there is none. */
function DifferenceNotice() {
  if (colourBy.value.kind !== 'difference' || comparison.data.value?.comparison || runDetail.value === null) return null;
  const busy = comparison.loading.value || isOtherSought.value || isOtherWorkerSought.value;
  return (
    <div class="reading" role="status" data-testid="difference-notice">
      <span>{busy ? 'Comparing with B…' : 'No colours: B cannot be compared.'}</span>
      <button
        type="button"
        class="button small"
        onClick={() => {
          view.value = 'compare';
        }}
      >
        {busy ? 'Show progress' : 'Show why'}
      </button>
    </div>
  );
}
