import type { ComponentChildren } from 'preact';
import { formatNumber } from '../../lib/text/format';
import { isComplex } from '../../model/value/elements';
import type { Paint } from '../../model/value/raster';
import { Select } from '../kit/Button';
import { ColourScale } from '../kit/ColourScale';
import { type ColourChoice, clip, clipOutliers, colourChoice, finiteLimits, setClip } from './value_colours';

interface ColourBarProps {
  paint: Paint;
  dtype: string;
  children?: ComponentChildren;
}

/** The colour scale of the current view, if there is a number to scale, and the choice of colours. */
export function ColourBar({ paint, dtype, children }: ColourBarProps) {
  return (
    <div class="colour-bar" data-testid="colour-bar">
      {finiteLimits.value === null ? (
        <span class="faint">No colour scale: all elements are NaN or Inf</span>
      ) : (
        <>
          <Magnitude dtype={dtype} />
          <Scale paint={paint} />
        </>
      )}
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
        <option value="auto">Colormap: auto</option>
        <option value="viridis">Viridis</option>
        <option value="magma">Magma</option>
        <option value="diverging">Diverging</option>
        <option value="grey">Grey</option>
      </Select>
    </div>
  );
}

/** Names the drawn part of complex elements. */
export function Magnitude({ dtype }: { dtype: string }) {
  if (!isComplex(dtype)) return null;
  return (
    <span class="chip" title="Complex elements are coloured by magnitude |x|; hover to see both parts">
      magnitude
    </span>
  );
}

/** The scale with its limits: both can be typed, or cut to the middle 98 %. */
function Scale({ paint }: { paint: Paint }) {
  const { low, high } = paint.range;
  return (
    <>
      <Limit label="Colour minimum" value={clip.value.low} automatic={low} onChange={(value) => setClip(value, clip.value.high)} />
      <ColourScale name={paint.colormap} />
      <Limit label="Colour maximum" value={clip.value.high} automatic={high} onChange={(value) => setClip(clip.value.low, value)} />
      <button type="button" class="button small quiet" onClick={clipOutliers} title="Colours span the middle 98 % of the values">
        Clip outliers (1–99 %)
      </button>
      <button
        type="button"
        class="button small quiet"
        onClick={() => setClip(null, null)}
        disabled={clip.value.low === null && clip.value.high === null}
      >
        Reset
      </button>
    </>
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
      title={`${label} (blank = data ${label.endsWith('minimum') ? 'min' : 'max'}, ${automatic})`}
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
