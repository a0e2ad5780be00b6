import type { ComponentType } from 'preact';
import { visible } from '../../lib/text/visible_text';
import type { PanelTab } from '../../model/run/deep_link';
import { splitScope, tensorName } from '../../model/wire/names';
import { proofOf } from '../../model/wire/replay';
import { selectedItem } from '../../state/graph/layers';
import { captured, missingSlot, node, snapshot, visits } from '../../state/graph/node';
import { selectedScope } from '../../state/graph/scope';
import { bookmarkedHere, toggleBookmark } from '../../state/page/bookmarks';
import { chosenTensor, chosenVisit, panelTab, view } from '../../state/page/choices';
import { maximisePanel, panelMaximised } from '../../state/page/ui';
import { computedPlace, forgetTensor } from '../../state/replay/replay';
import { severalWorkers } from '../../state/runs';
import { selected, selectedNode, selectTensor } from '../../state/selection';
import { IconButton, Select } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Failure } from '../kit/Message';
import { Tabs } from '../kit/Tabs';
import { lazyViews } from '../shell/MainView';
import { ValueTab } from '../value/ValueTab';
import { HistogramTab } from './HistogramTab';
import { HistoryTab } from './HistoryTab';
import { SelectedLayer } from './LayerPanel';
import { OverviewTab } from './OverviewTab';
import { CompareMenu, PinButton, PinnedBar } from './PinnedBar';
import { NoSuchOutput } from './panel_notices';
import { RunSummary } from './RunSummary';
import { ScopePanel } from './ScopePanel';
import { SourceTab } from './SourceTab';

/** The tabs of the panel; a new one is one row. The last one is of runs with several workers. */
const TABS: readonly { id: PanelTab; label: string; view: ComponentType }[] = [
  { id: 'overview', label: 'Overview', view: OverviewTab },
  { id: 'history', label: 'History', view: HistoryTab },
  { id: 'histogram', label: 'Histograms', view: HistogramTab },
  { id: 'value', label: 'Value', view: ValueTab },
  { id: 'source', label: 'Source', view: SourceTab },
  { id: 'workers', label: 'Workers', view: lazyViews.part('WorkersTab') },
];

export function NodePanel() {
  const name = selectedNode.value;
  if (name === null) return selectedItem.value ? <SelectedLayer /> : selectedScope.value ? <ScopePanel /> : <RunSummary />;
  const tabs = severalWorkers.value ? TABS : TABS.slice(0, -1);
  const Tab = tabs.find((tab) => tab.id === panelTab.value)?.view ?? OverviewTab;
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
              tabs={tabs}
              current={panelTab.value}
              onChange={(tab) => {
                panelTab.value = tab;
              }}
            />
          </div>
          <div class="panel-body" role="tabpanel" aria-label={panelTab.value}>
            {missingSlot.value !== null && panelTab.value !== 'source' ? <NoSuchOutput slot={missingSlot.value} /> : <Tab />}
          </div>
        </>
      )}
    </section>
  );
}

function close(): void {
  maximisePanel(false); // the next node opens beside the view
  selectTensor(null);
}

function PanelHeader({ name }: { name: string }) {
  const { scope, label } = splitScope(name);
  const detail = node.data.value?.name === name ? node.data.value : null;
  const maximised = panelMaximised.value;
  // Their space is reserved only while it is unknown whether there are any.
  const bare = detail !== null && !detail.op_type && !detail.layer && !detail.device;
  return (
    <header class="panel-head">
      <div class="grow">
        <div class="panel-scope truncate" title={name}>
          {scope || '(root)'}
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
        <CompareMenu />
        <IconButton
          small
          icon={maximised ? 'collapse' : 'expand'}
          label={maximised ? 'Exit full width (E)' : 'Full width (E)'}
          onClick={() => maximisePanel(!maximised)}
        />
        <IconButton small icon="close" label="Close (Esc)" onClick={close} />
      </div>
    </header>
  );
}

/** Shortens `/job:localhost/replica:0/task:0/device:GPU:0` to `GPU:0`. */
function shortDevice(device: string): string {
  return /device:([A-Z]+:\d+)/i.exec(device)?.[1] ?? device;
}

/** The star of the current view. */
function BookmarkButton() {
  const on = bookmarkedHere.value;
  const label = on ? 'Remove bookmark (A)' : 'Bookmark at this step (A)';
  return <IconButton small icon="star" label={label} pressed={on} onClick={toggleBookmark} testid="bookmark" />;
}

/** Says that the numbers below were computed and not captured, and whether they are verified. */
function ComputedBadge() {
  const place = computedPlace.value;
  if (place === null) return null;
  const proof = proofOf(place.computed, chosenTensor.value ?? '');
  const whatIf = place.whatIf === null ? null : visible(place.whatIf);
  return (
    <p class="computed-badge" data-proven={place.whatIf === null && proof?.proven === true} data-testid="computed-badge">
      <b>{whatIf ?? proof?.word}</b>{' '}
      {whatIf === null ? `step ${place.step}: ${visible(proof?.text ?? '')}` : `Computed with the changes of ${whatIf}, step ${place.step}`}
      .{' '}
      {view.value !== 'stepper' && (
        <button type="button" class="link" onClick={() => forgetTensor(chosenTensor.value ?? '')}>
          {captured.value ? 'Show captured value' : 'Discard'}
        </button>
      )}
    </p>
  );
}

/** Menus for output slot and iteration; nothing if there is one of each. */
function SnapshotPicker() {
  const outputs = node.data.value?.outputs ?? [];
  const current = selected.value;
  if (current === null || (outputs.length < 2 && visits.value.length < 2)) return null;
  return (
    <div class="snapshot-picker">
      {outputs.length > 1 && (
        <Select
          label="Output"
          value={String(current.slot)}
          onChange={(slot) => selectTensor(tensorName(current.node, Number(slot)))}
          testid="slot-picker"
        >
          {outputs.map((output) => (
            <option key={output.slot} value={String(output.slot)}>
              :{output.slot} {output.dtype} {output.shape}
            </option>
          ))}
        </Select>
      )}
      {visits.value.length > 1 && (
        <Select
          label={`Iteration (${visits.value.length})`}
          value={String(snapshot.value?.visit ?? 0)}
          onChange={(visit) => {
            chosenVisit.value = Number(visit);
          }}
          testid="visit-picker"
        >
          {visits.value.map((visit) => (
            <option key={visit} value={String(visit)}>
              {visit}
            </option>
          ))}
        </Select>
      )}
    </div>
  );
}
