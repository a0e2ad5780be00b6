import type { ComponentType } from 'preact';
import type { PanelTab } from '../../model/run/deep_link';
import { splitScope } from '../../model/wire/names';
import { panelTab } from '../../state/choices';
import { lostSlot, node } from '../../state/node';
import { selectedNode, selectTensor } from '../../state/selection';
import { maximisePanel, panelMaximised, togglePanel } from '../../state/ui';
import { IconButton } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Failure } from '../kit/Message';
import { Tabs } from '../kit/Tabs';
import { ValueTab } from '../value/ValueTab';
import { BookmarkButton } from './BookmarkButton';
import { ComputedBadge } from './ComputedBadge';
import { HistogramTab } from './HistogramTab';
import { HistoryTab } from './HistoryTab';
import { NoSuchOutput } from './NoSuchOutput';
import { OverviewTab } from './OverviewTab';
import { PinButton, PinnedBar } from './PinnedBar';
import { RunSummary } from './RunSummary';
import { SnapshotPicker } from './SnapshotPicker';
import { SourceTab } from './SourceTab';

/** The tabs of the panel; a new one is one row. */
const TABS: readonly { id: PanelTab; label: string; view: ComponentType }[] = [
  { id: 'overview', label: 'Overview', view: OverviewTab },
  { id: 'history', label: 'History', view: HistoryTab },
  { id: 'histogram', label: 'Histograms', view: HistogramTab },
  { id: 'value', label: 'Value', view: ValueTab },
  { id: 'source', label: 'Source', view: SourceTab },
];

export function NodePanel() {
  const name = selectedNode.value;
  if (name === null) return <RunSummary />;
  const Tab = TABS.find((tab) => tab.id === panelTab.value)?.view ?? OverviewTab;
  const failed = node.data.value === null && node.error.value !== null;
  return (
    <section class="panel" aria-label="Node" data-testid="inspector" data-node={name}>
      <PanelHeader name={name} />
      {failed && node.error.value ? (
        <Failure error={node.error.value} retry={node.reload} />
      ) : (
        <>
          <SnapshotPicker />
          <ComputedBadge />
          <PinnedBar />
          <div class="pane-head panel-tabs">
            <Tabs
              label="Node"
              tabs={TABS}
              current={panelTab.value}
              onChange={(tab) => {
                panelTab.value = tab;
              }}
            />
          </div>
          <div class="panel-body" role="tabpanel" aria-label={panelTab.value}>
            {lostSlot.value !== null && panelTab.value !== 'source' ? <NoSuchOutput slot={lostSlot.value} /> : <Tab />}
          </div>
        </>
      )}
    </section>
  );
}

function PanelHeader({ name }: { name: string }) {
  const { scope, label } = splitScope(name);
  const detail = node.data.value?.name === name ? node.data.value : null;
  const maximised = panelMaximised.value;
  // Their room is kept only as long as it is not known whether there are any.
  const bare = detail !== null && !detail.op_type && !detail.layer && !detail.device;
  return (
    <header class="panel-head">
      <div class="grow">
        <div class="panel-scope truncate" title={name}>
          {scope || 'top level'}
        </div>
        <h2 class="panel-title">
          <span class="truncate" title={name}>
            {label}
          </span>
          <CopyButton text={name} label="Copy the node name" />
        </h2>
        {!bare && (
          <div class="panel-chips">
            {detail?.op_type && <span class="chip accent">{detail.op_type}</span>}
            {detail?.layer && (
              <span class="chip truncate" title={`Keras layer ${detail.layer}`}>
                {detail.layer}
              </span>
            )}
            {detail?.device && (
              <span class="chip" title={detail.device}>
                {shortDevice(detail.device)}
              </span>
            )}
          </div>
        )}
      </div>
      <div class="row panel-actions">
        <BookmarkButton />
        <PinButton />
        <IconButton
          small
          icon={maximised ? 'collapse' : 'expand'}
          label={maximised ? 'Back beside the graph (e)' : 'Enlarge (e)'}
          onClick={() => maximisePanel(!maximised)}
        />
        <IconButton small icon="close" label="Close (Esc)" onClick={() => (maximised ? togglePanel() : selectTensor(null))} />
      </div>
    </header>
  );
}

/** `/job:localhost/replica:0/task:0/device:GPU:0` is `GPU:0` to people. */
function shortDevice(device: string): string {
  return /device:([A-Z]+:\d+)/i.exec(device)?.[1] ?? device;
}
