import type { ComponentType } from 'preact';
import { VALUE_MODES, type ValueMode } from '../../model/value/dims';
import { nothingFinite } from '../../model/value/missing_values';
import type { Snapshot } from '../../model/wire/answers';
import { chosenMode } from '../../state/choices';
import { captured, history, snapshot, snapshots } from '../../state/node';
import { keptRow, supports, valueMode } from '../../state/tensors/value';
import { Segmented } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { NotCaptured } from '../panel/NotCaptured';
import { NotAtThisStep } from '../panel/SummarySection';
import { DimensionBar } from './DimensionBar';
import { NonfiniteJump } from './NonfiniteJump';
import { NothingFinite } from './NothingFinite';
import { NotKept } from './NotKept';
import { SampleNote } from './SampleNote';
import { ScalarValue } from './ScalarValue';
import { ValueExport } from './ValueExport';
import { ValueHeatmap } from './ValueHeatmap';
import { ValueHistogram } from './ValueHistogram';
import { ValueImage } from './ValueImage';
import { ValueLine } from './ValueLine';
import { ValueTable } from './ValueTable';

/** Ways to look at a value; a new one is one row. */
const VIEWS: Record<ValueMode, { label: string; view: ComponentType<{ row: Snapshot }> }> = {
  table: { label: 'Table', view: ValueTable },
  heatmap: { label: 'Heatmap', view: ValueHeatmap },
  line: { label: 'Line', view: ValueLine },
  image: { label: 'Image', view: ValueImage },
  histogram: { label: 'Histogram', view: ValueHistogram },
};

export function ValueTab() {
  const [whole, row] = [snapshot.value, keptRow.value];
  if (row === null || whole === null) return <NoValue />;
  if (!row.kept)
    return <NotKept row={row} kept={history.data.value?.rows.filter((other) => other.kept).map((other) => other.step) ?? []} />;
  if (row.size === 0) {
    return (
      <Message title="No elements">
        <p>The shape is {row.shape.join(' × ')}.</p>
      </Message>
    );
  }
  if (row.shape.length === 0) return <ScalarValue row={row} />;
  return <ValueViewer row={row} whole={whole} />;
}

function ValueViewer({ row, whole }: { row: Snapshot; whole: Snapshot }) {
  const mode = valueMode.value;
  const View = VIEWS[mode].view;
  const options = VALUE_MODES.map((value) => ({ value, label: VIEWS[value].label, disabled: !supports(value, row) }));
  return (
    <div class="tab-body fill" data-testid="value">
      <div class="tab-bar">
        <Segmented
          label="View"
          options={options}
          value={mode}
          onChange={(next) => {
            chosenMode.value = next;
          }}
        />
        <div class="grow" />
        <span class="row">
          {nothingFinite(whole) === null && <NonfiniteJump row={row} />}
          <ValueExport row={row} />
        </span>
      </div>
      <SampleNote whole={whole} />
      <NothingFinite whole={whole} />
      <DimensionBar shape={row.shape} mode={mode} />
      <View row={row} />
    </div>
  );
}

function NoValue() {
  if (captured.value === false) return <NotCaptured />;
  if (snapshots.error.value) return <Failure error={snapshots.error.value} retry={snapshots.reload} />;
  return captured.value === null || snapshots.loading.value ? null : <NotAtThisStep />;
}
