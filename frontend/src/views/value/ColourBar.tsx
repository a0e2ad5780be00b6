import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { colormap } from '../../lib/colormap';
import { formatNumber } from '../../lib/format';
import type { Paint } from '../../model/raster';
import { Select } from '../kit/Button';
import { type ColourChoice, clip, clipOutliers, colourChoice, setClip } from './colours';

/** The colour scale with its limits: both can be typed, or cut to the middle 98 %. */
export function ColourBar({ paint, children }: { paint: Paint; children?: ComponentChildren }) {
  const { low, high } = paint.range;
  return (
    <div class="colour-bar">
      <Limit label="Lowest colour" value={clip.value.low} automatic={low} onChange={(value) => setClip(value, clip.value.high)} />
      <Scale paint={paint} />
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
  return (
    <input
      class="field small limit num"
      aria-label={label}
      title={`${label}; empty: the data's own (${automatic})`}
      placeholder={formatNumber(automatic)}
      value={value === null ? '' : String(Number(value.toPrecision(6)))}
      onChange={(event) => {
        const text = event.currentTarget.value.trim();
        const number = Number(text);
        onChange(text === '' || !Number.isFinite(number) ? null : number);
      }}
    />
  );
}

function Scale({ paint }: { paint: Paint }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const table = colormap(paint.colormap);
    const image = context.createImageData(256, 1);
    for (let i = 0; i < 256; i++) {
      image.data.set(table.subarray(3 * i, 3 * i + 3), 4 * i);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [paint.colormap]);
  return <canvas class="scale" width={256} height={1} ref={canvas} aria-hidden="true" />;
}
