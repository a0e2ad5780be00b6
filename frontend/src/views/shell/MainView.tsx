import type { ComponentType } from 'preact';
import { VIEW_NAMES, type View } from '../../model/run/deep_link';
import { graph, overlay } from '../../state/graph/graph';
import { view } from '../../state/page/choices';
import { modelPicture } from '../../state/page/preferences';
import { panelShown, problemsShown, togglePanel, toggleProblems } from '../../state/page/ui';
import { run, runDetail } from '../../state/runs';
import { timeline } from '../../state/tensors/timeline';
import { ChainSwitch, GraphView } from '../graph/RunGraph';
import { IconButton, Segmented } from '../kit/Button';
import { LazyParts } from '../kit/lazy';
import { LayersView } from '../layers/LayersView';
import { CardColourControl, ColourControl } from './ColourControl';

/** Views that are not on the first screen, see views/lazy_views.ts. */
export const lazyViews = new LazyParts(() => import('../lazy_views'));

/** The component of each view. Its name in the address and its title are a row of VIEW_TITLES in model/run/deep_link.ts. */
const COMPONENTS: Readonly<Record<View, ComponentType>> = {
  layers: LayersView,
  graph: GraphView,
  table: lazyViews.part('TensorTableView'),
  timeline: lazyViews.part('TimelineView'),
  source: lazyViews.part('SourceView'),
  problems: lazyViews.part('ProblemsView'),
  compare: lazyViews.part('CompareView'),
  stepper: lazyViews.part('ReplayView'),
  events: lazyViews.part('EventsView'),
};

/** The middle of the page: the tabs of the views, and the view that is chosen. */
export function MainView() {
  const View = COMPONENTS[view.value];
  const opening = runDetail.value === null && run.error.value === null;
  return (
    <div class="centre">
      <div class="pane-head">
        {(!problemsShown.value || view.value === 'problems') && (
          <IconButton
            small
            icon="sidebar"
            label="Show problems sidebar (Shift+W)"
            onClick={toggleProblems}
            disabled={view.value === 'problems'}
          />
        )}
        <Segmented
          label="View"
          options={VIEW_NAMES}
          value={view.value}
          onChange={(next) => {
            view.value = next;
            if (next === 'layers' || next === 'graph') modelPicture.value = next;
          }}
        />
        <div class="row centre-controls">
          {view.value === 'graph' && <ChainSwitch />}
          {(view.value === 'graph' || view.value === 'timeline') && <ColourControl />}
          {view.value === 'layers' && <CardColourControl />}
          {!panelShown.value && <IconButton small icon="panel" label="Show the panel (\)" onClick={togglePanel} />}
        </div>
      </div>
      {(opening || overlay.loading.value || graph.loading.value || timeline.loading.value) && (
        <div class="busy" role="progressbar" aria-label="Loading" />
      )}
      <View />
    </div>
  );
}
