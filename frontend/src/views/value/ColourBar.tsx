import type { ComponentChildren } from 'preact';
import { formatNumber } from '../../lib/format';
import type { Paint } from '../../model/raster';
import { Select } from '../kit/Button';
import { ColourScale } from '../kit/ColourScale';
import { type ColourChoice, clip, clipOutliers, colourChoice, setClip } from './colours';

/** The colour scale with its limits: both can be typed, or cut to the middle 98 %. */
export function ColourBar({ paint, children }: { paint: Paint; children?: ComponentChildren }) {
  const { low, high } = paint.range;
  return (
    <div class="colour-bar">
      <Limit label="Lowest colour" value={clip.value.low} automatic={low} onChange={(value) => setClip(value, clip.value.high)} />
      <ColourScale name={paint.colormap} />
      <Limit label="Highest colour" value={clip.value.high} automatic={high} onChange={(value) => setClip(clip.value.low, value)} />
      <button type="button" class="button small quiet" onClick={clipOutliers} title="Colours span the middle 98 % of the values">
        1–99 %
      </button>
      <button
        type="button"
        class="button small quiet"
        onClick={() => setClip(null, null)}
        disabled={clip.value.low === null && clip.value.high === null}
      >
        Reset
      </button>
      <span class="grow" />
      {children}
      <Select
        label="Colours"
        hideLabel
        value={colourChoice.value}
        onChange={(value) => {
          colourChoice.value = value as ColourChoice;
        }}
      >
        <option value="auto">Auto colours</option>
        <option value="viridis">Viridis</option>
        <option value="magma">Magma</option>
        <option value="diverging">Diverging</option>
        <option value="grey">Grey</option>
      </Select>
    </div>
  );
}

function Limit({
  label,
  value,
  automatic,
  onChange,
}: {
  label: string;
  value: number | null;
  automatic: number;
  onChange: (value: number | null) => void;
}) {
  const shown = value === null ? '' : String(Number(value.toPrecision(6)));
  const longest = Math.max(shown.length, formatNumber(automatic).length);
  return (
    <input
      class="field small limit num"
      style={{ minWidth: `calc(${longest}ch + 2 * var(--space-3))` }}
      aria-label={label}
      title={`${label}; empty: the data's own (${automatic})`}
      placeholder={formatNumber(automatic)}
      value={shown}
      onChange={(event) => {
        const text = event.currentTarget.value.trim();
        const number = Number(text);
        onChange(text === '' || !Number.isFinite(number) ? null : number);
      }}
    />
  );
}
