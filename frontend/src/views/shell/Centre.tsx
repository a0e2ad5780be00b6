import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { VIEW_TITLES, VIEWS } from '../../model/run/deep_link';
import { keepPlace } from '../../state/address';
import { bookmarkedPlaces, toggleBookmark } from '../../state/bookmarks';
import { chosenScope, openScopes, trace, unstacked, view } from '../../state/choices';
import { graphColour } from '../../state/compare/comparison';
import { graph, overlay } from '../../state/graph';
import { panelOpen, theme } from '../../state/preferences';
import { chainRows, chainShown, report } from '../../state/problems/findings';
import { computedOverlay } from '../../state/replay/replay';
import { stepperColour } from '../../state/replay/replay_cursor';
import { detailOutdated, graphId, run, runDetail, runEntry } from '../../state/runs';
import { clearTrace, pathStart, selectedNode, selectNode, selectScope, startTrace } from '../../state/selection';
import { step } from '../../state/steps';
import { nodeTrends, trendNodes } from '../../state/tensors/node_trends';
import { timeline } from '../../state/tensors/timeline';
import { problemsShown, togglePanel, toggleProblems } from '../../state/ui';
import { CompareView } from '../compare/CompareView';
import { DifferenceNotice } from '../compare/DifferenceNotice';
import { EventsView } from '../events/EventsView';
import { graphOnShow } from '../graph/canvas/navigation';
import { GraphPane } from '../graph/GraphPane';
import { IconButton, Segmented, Switch } from '../kit/Button';
import { Failure } from '../kit/Message';
import { ProblemsView } from '../problems/ProblemsView';
import { SourceView } from '../source/SourceView';
import { StepperView } from '../stepper/StepperView';
import { TensorTableView } from '../table/TensorTableView';
import { TimelineView } from '../timeline/TimelineView';
import { ColourControl } from './ColourControl';
import { NothingCaptured } from './NothingCaptured';
import { WorkerNotice } from './WorkerNotice';

export const VIEW_NAMES = VIEWS.map((value) => ({ value, label: VIEW_TITLES[value] }));

/** The graph, the table of its tensors, their timeline, or what is wrong with them. */
export function Centre() {
  const opening = runDetail.value === null && run.error.value === null;
  return (
    <div class="centre">
      <div class="pane-head">
        {(!problemsShown.value || view.value === 'problems') && (
          <IconButton small icon="sidebar" label="Show the problems (n)" onClick={toggleProblems} disabled={view.value === 'problems'} />
        )}
        <Segmented
          label="View"
          options={VIEW_NAMES}
          value={view.value}
          onChange={(next) => {
            view.value = next;
          }}
        />
        <div class="row centre-controls">
          {view.value === 'graph' && <ChainSwitch />}
          {(view.value === 'graph' || view.value === 'timeline') && <ColourControl />}
          {!panelOpen.value && <IconButton small icon="panel" label="Show the node panel (\)" onClick={togglePanel} />}
        </div>
      </div>
      {(opening || overlay.loading.value || graph.loading.value || timeline.loading.value) && (
        <div class="busy" role="progressbar" aria-label="Loading" />
      )}
      {view.value === 'table' && <TensorTableView />}
      {view.value === 'timeline' && <TimelineView />}
      {view.value === 'source' && <SourceView />}
      {view.value === 'problems' && <ProblemsView />}
      {view.value === 'compare' && <CompareView />}
      {view.value === 'events' && <EventsView />}
      {view.value === 'stepper' && (
        <StepperView>
          <GraphView />
        </StepperView>
      )}
      {view.value === 'graph' && <DifferenceNotice />}
      {view.value === 'graph' && <WorkerNotice />}
      {view.value === 'graph' && <GraphView />}
    </div>
  );
}

function GraphView() {
  useEffect(() => {
    told = openScopes.peek(); // the pane has just been given them
    return effect(followAddress);
  }, []);
  const failed = graph.error.value ?? run.error.value;
  if (graph.data.value === null && failed) return <Failure error={failed} retry={graph.error.value ? graph.reload : run.reload} />;
  if (run.data.value !== null && run.data.value.graphs.length === 0 && !detailOutdated.value) return <NothingCaptured />;
  return (
    <div class="pane-body">
      <GraphPane
        graph={graph.data.value}
        overlay={view.value === 'stepper' ? computedOverlay.data.value : overlay.data.value}
        selected={selectedNode.value ?? (chosenScope.value === null ? null : `${chosenScope.value}/`)}
        bookmarks={bookmarkedPlaces.value}
        onBookmark={toggleBookmark}
        colour={view.value === 'stepper' ? stepperColour.value : graphColour.value}
        theme={theme.value}
        subject={[runEntry.value?.name ?? '', graph.data.value?.name ?? '', ...(step.value === null ? [] : [`step ${step.value}`])]}
        chain={chainRows.value}
        unstacked={unstacked.value}
        trace={trace.value}
        pathStart={pathStart.value}
        onSelect={(name) => (name?.endsWith('/') ? selectScope(name.slice(0, -1)) : selectNode(name))}
        trends={nodeTrends.value}
        onTrends={(graph, rows) => {
          trendNodes.value = { graph, rows };
        }}
        onUnstack={(paths) => {
          unstacked.value = paths;
        }}
        onTrace={(kind, name) => (kind ? startTrace(kind, name) : clearTrace())}
        onModel={(model) => {
          graphOnShow.value = model;
        }}
        {...(openScopes.peek() && { expandedScopes: openScopes.peek() ?? [] })}
        onLeave={keepPlace}
        onExpandedChange={(scopes) => keepOpenScopes(graph.data.value?.id ?? '', scopes)}
      />
    </div>
  );
}

/** Takes the chain from birth to loss off the graph again, or shows it. */
function ChainSwitch() {
  if ((report.value?.chain.length ?? 0) < 2 || report.value?.graph !== graph.data.value?.id) return null;
  const toggle = () => {
    chainShown.value = !chainShown.value;
  };
  return (
    <Switch label="NaN's way" on={chainShown.value} onChange={toggle} title="Mark how NaN went from its birth to the loss" testid="chain" />
  );
}

/** What each graph opens by itself; that need not be in the address. */
const opensByItself = new Map<string, readonly string[]>();

/** The open scopes as the graph told them last: others come from the address, as "back" leads there. */
let told: readonly string[] | null = null;

function keepOpenScopes(id: string, scopes: readonly string[]): void {
  if (openScopes.peek() === null && !opensByItself.has(id)) opensByItself.set(id, scopes);
  told = opensByItself.get(id)?.join() === scopes.join() ? null : scopes;
  openScopes.value = told;
}

/** Has the graph on show open what the address asks for; one that is on its way is given that when it comes. */
function followAddress(): void {
  const [scopes, id] = [openScopes.value, graph.data.peek()?.id];
  if (scopes === told || id === undefined || id !== graphId.peek()) return;
  const wanted = scopes ?? opensByItself.get(id);
  if (wanted) graphOnShow.peek()?.reopen(wanted);
}
