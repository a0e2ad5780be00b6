import { computed } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../lib/text/format';
import { VALUE_MODES, type ValueMode } from '../../model/value/dims';
import { textAt } from '../../model/value/elements';
import { nothingFinite } from '../../model/value/missing_values';
import { sampleText } from '../../model/value/sample';
import type { Slice } from '../../model/value/slice';
import type { Nonfinite, Snapshot } from '../../model/wire/answers';
import { infinities } from '../../model/wire/statistics';
import { captured, history, snapshot, snapshots } from '../../state/graph/node';
import { chosenMode } from '../../state/page/choices';
import { api } from '../../state/provider';
import { resource } from '../../state/resource';
import { focusElement, keptRow, keyText, slice, snapshotKey, supports, valueMode } from '../../state/tensors/value';
import { Segmented } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Icon } from '../kit/Icon';
import { Failure, Message } from '../kit/Message';
import { NotCaptured } from '../panel/panel_notices';
import { NotAtThisStep } from '../panel/SummarySection';
import { DimensionBar } from './DimensionBar';
import { NothingFinite, NotKept } from './NoValue';
import { ValueExport } from './ValueExport';
import { ValueHeatmap } from './ValueHeatmap';
import { ValueHistogram } from './ValueHistogram';
import { ValueImage } from './ValueImage';
import { ValueLine } from './ValueLine';
import { ValueTable } from './ValueTable';

/** Kinds of value views; a new one is one row. */
const VIEWS: Record<ValueMode, { label: string; view: ComponentType<{ row: Snapshot }> }> = {
  table: { label: 'Table', view: ValueTable },
  heatmap: { label: 'Heatmap', view: ofSlice(ValueHeatmap) },
  line: { label: 'Line', view: ofSlice(ValueLine) },
  image: { label: 'Image', view: ofSlice(ValueImage) },
  histogram: { label: 'Histogram', view: ofSlice(ValueHistogram) },
};

/** Draws the current slice, or says why there is none. */
function ofSlice(View: ComponentType<{ data: Slice; row: Snapshot }>): ComponentType<{ row: Snapshot }> {
  return ({ row }) => {
    const data = slice.data.value;
    if (data !== null) return <View data={data} row={row} />;
    return slice.error.value ? <Failure error={slice.error.value} retry={slice.reload} /> : null;
  };
}

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
          {nothingFinite(whole) === null && <ElementJumps row={row} />}
          {nothingFinite(whole) === null && <NonfiniteJump row={row} />}
          <ValueExport row={row} />
        </span>
      </div>
      <SampleNote whole={whole} />
      <UnverifiedNote whole={whole} />
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

/** Says that only a sample of the value was stored, and which. */
function SampleNote({ whole }: { whole: Snapshot }) {
  if (!whole.sample) return null;
  const kept = Math.min(whole.sample.count, whole.size);
  return (
    <p class="sample-note" data-testid="sampled">
      <span class="chip">sample</span>
      <span>
        {formatCount(kept)} of {formatCount(whole.size)} elements stored, {sampleText(whole.sample)}, shown in one dimension. Counts,
        statistics and histograms cover the whole tensor.
      </span>
    </p>
  );
}

/** Says that the shown value was not verified by a checksum. */
function UnverifiedNote({ whole }: { whole: Snapshot }) {
  if (!whole.unverified) return null;
  return (
    <p class="sample-note" data-testid="unverified">
      <span class="chip">unverified</span>
      <span>{whole.unverified}</span>
    </p>
  );
}

/** Buttons for the largest and smallest element, and the next zero. */
function ElementJumps({ row }: { row: Snapshot }) {
  const [zeros, setZeros] = useState<{ of: string; indices: number[][]; at: number } | null>(null);
  const key = keyText.value;
  useEffect(() => setZeros(null), [key]);
  if (row.dtype === 'string' || row.dtype === 'bool') return null;
  const find = async (what: 'zero' | 'max' | 'min') => {
    const of = snapshotKey.peek();
    if (of === null || key === null) return;
    const known = what === 'zero' && zeros?.of === key ? zeros : null;
    const indices = known?.indices ?? (await api().elements(of, what, MOST_PLACES)).indices;
    const at = known ? (known.at + 1) % indices.length : 0;
    const index = indices[at];
    if (keyText.peek() !== key || !index) return;
    if (what === 'zero') setZeros({ of: key, indices, at });
    focusElement(index);
  };
  const go = (what: 'zero' | 'max' | 'min') => () => void find(what).catch(() => setZeros(null));
  const place = zeros ? ` ${formatCount(zeros.at + 1)} of ${formatCount(Math.max(row.zero, zeros.indices.length))}` : '';
  return (
    <fieldset class="row element-jumps" aria-label="Go to an element">
      <button type="button" class="button small" onClick={go('max')} title={`Go to the largest element (${row.max})`}>
        Max
      </button>
      <button type="button" class="button small" onClick={go('min')} title={`Go to the smallest element (${row.min})`}>
        Min
      </button>
      {row.zero > 0 && (
        <button type="button" class="button small num" onClick={go('zero')} title="Go to the next zero" data-testid="next-zero">
          Next zero{place}
        </button>
      )}
    </fieldset>
  );
}

/** Maximum number of fetched positions; beyond that only their number is shown. */
const MOST_PLACES = 1000;

/** Button for the next NaN or Inf. */
function NonfiniteJump({ row }: { row: Snapshot }) {
  const [found, setFound] = useState<{ of: string; places: Nonfinite; at: number } | null>(null);
  const key = keyText.value;
  useEffect(() => setFound(null), [key]);
  if (row.nan + infinities(row) === 0) return null;

  const next = async () => {
    const of = snapshotKey.peek();
    if (of === null || key === null) return;
    const places = found?.of === key ? found.places : await api().nonfinite(of, MOST_PLACES);
    const at = found?.of === key ? (found.at + 1) % places.indices.length : 0;
    const index = places.indices[at];
    if (keyText.peek() !== key || !index) return;
    setFound({ of: key, places, at });
    focusElement(index);
  };
  const none = found?.places.total === 0;
  const place = none ? ': none stored' : found ? ` ${formatCount(found.at + 1)} of ${formatCount(found.places.total)}` : '';
  return (
    <button
      type="button"
      class="button small num"
      onClick={() => void next().catch(() => setFound(null))}
      title="Go to the next NaN or Inf"
      data-testid="next-nonfinite"
    >
      <Icon name="warning" />
      Next NaN/Inf{place}
    </button>
  );
}

const scalar = resource(
  computed(() => {
    const key = snapshotKey.value;
    if (key === null || !snapshot.value?.kept || snapshot.value.shape.length > 0) return null;
    return { key: keyText.value ?? '', subject: `${key.run} ${key.tensor}`, of: key };
  }),
  ({ of }, abort) => api().value(of, '', abort),
);

function ScalarValue({ row }: { row: Snapshot }) {
  const array = scalar.data.value;
  if (array === null) return scalar.error.value ? <Failure error={scalar.error.value} retry={scalar.reload} /> : null;
  const text = textAt(array, 0, row.dtype);
  return (
    <div class="tab-body fill" data-testid="value">
      <div class="tab-bar">
        <span class="grow" />
        <ValueExport row={row} />
      </div>
      <NothingFinite whole={row} />
      <div class="message">
        <span class="scalar num" data-testid="value-cell" data-index="">
          {text} <CopyButton text={text} label="Copy the value" />
        </span>
        <span class="faint mono">{row.dtype} scalar</span>
      </div>
    </div>
  );
}
