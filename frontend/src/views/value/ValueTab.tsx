import type { ComponentType } from 'preact';
import type { Snapshot } from '../../model/answers';
import { captured, history, snapshot, snapshots } from '../../state/node';
import { valueMode } from '../../state/preferences';
import { VALUE_MODES, type ValueMode } from '../../state/value';
import { Segmented } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { NotCaptured } from '../panel/NotCaptured';
import { NotAtThisStep } from '../panel/SummarySection';
import { DimensionBar } from './DimensionBar';
import { NonfiniteJump } from './NonfiniteJump';
import { NotKept } from './NotKept';
import { ScalarValue } from './ScalarValue';
import { ValueExport } from './ValueExport';
import { ValueHeatmap } from './ValueHeatmap';
import { ValueImage } from './ValueImage';
import { ValueLine } from './ValueLine';
import { ValueTable } from './ValueTable';

/** Ways to look at a value; a new one is one row. `rank`: how many dimensions it needs. */
const VIEWS: Record<ValueMode, { label: string; rank: number; numeric: boolean; view: ComponentType<{ row: Snapshot }> }> = {
  table: { label: 'Table', rank: 0, numeric: false, view: ValueTable },
  heatmap: { label: 'Heatmap', rank: 2, numeric: true, view: ValueHeatmap },
  line: { label: 'Line', rank: 1, numeric: true, view: ValueLine },
  image: { label: 'Image', rank: 2, numeric: true, view: ValueImage },
};

function supports(mode: ValueMode, row: Snapshot): boolean {
  const { rank, numeric } = VIEWS[mode];
  return row.shape.length >= rank && !(numeric && row.dtype === 'string');
}

export function ValueTab() {
  const row = snapshot.value;
  if (row === null) return <NoValue />;
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
  return <ValueViewer row={row} />;
}

function ValueViewer({ row }: { row: Snapshot }) {
  const mode = supports(valueMode.value, row) ? valueMode.value : 'table';
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
            valueMode.value = next;
          }}
        />
        <div class="grow" />
        <NonfiniteJump row={row} />
        <ValueExport row={row} />
      </div>
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
