import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { axisNames } from '../../model/value/axis_names';
import type { ValueMode } from '../../model/value/dims';
import { type Axis, assignAxis, assignIndex, canBeColour, dimOf, dimsText, foldedDims } from '../../model/value/dims';
import { node } from '../../state/graph/node';
import { chosenTensor } from '../../state/page/choices';
import { chooseMapping, focusedElement, mapping, slice } from '../../state/tensors/value';
import { IconButton } from '../kit/Button';

const AXES: Record<ValueMode, readonly { axis: Axis; label: string; title: string }[]> = {
  table: [
    { axis: 'y', label: 'rows', title: 'Down' },
    { axis: 'x', label: 'columns', title: 'Across' },
  ],
  heatmap: [
    { axis: 'y', label: 'rows', title: 'Down' },
    { axis: 'x', label: 'columns', title: 'Across' },
  ],
  histogram: [
    { axis: 'y', label: 'rows', title: 'Counted' },
    { axis: 'x', label: 'columns', title: 'Counted' },
  ],
  line: [{ axis: 'x', label: 'x', title: 'Along the line' }],
  image: [
    { axis: 'y', label: 'height', title: 'Down' },
    { axis: 'x', label: 'width', title: 'Across' },
    { axis: 'c', label: 'RGB', title: 'Colour channels' },
    { axis: 'n', label: 'grid', title: 'One tile per index' },
  ],
};

/** The role of each dimension: an axis of the view, or a fixed index with a slider. */
export function DimensionBar({ shape, mode }: { shape: readonly number[]; mode: ValueMode }) {
  if (shape.length < 2 && mode !== 'image') return null;
  const folded = foldedDims(shape, mapping.value);
  return (
    <div class="dimensions">
      {shape.map(
        (length, dim) =>
          !folded.includes(dim) && <Dimension key={dim} dim={dim} length={length} mode={mode} title={dimensionTitle(shape, dim)} />,
      )}
      {folded.length > 0 && (
        <span class="dimension faint num" data-testid="folded-dims">
          {folded.length === 1 ? `dim ${folded[0]} has 1 element: at 0` : `dims ${dimsText(folded)} have 1 element each: at 0`}
        </span>
      )}
    </div>
  );
}

/** `channels (3)` where the op says so, else `dim 3`. */
export function dimensionTitle(shape: readonly number[], dim: number): string {
  const detail = node.data.value;
  const name = detail === null ? '' : (axisNames(shape, detail)?.[dim] ?? '');
  return name === '' ? `dim ${dim}` : `${name} (${dim})`;
}

function Dimension({ dim, length, mode, title }: { dim: number; length: number; mode: ValueMode; title: string }) {
  const role = mapping.value[dim] ?? 0;
  const choose = (value: string) => {
    focusedElement.value = null;
    chooseMapping(value === 'index' ? assignIndex(mapping.value, dim, 0) : assignAxis(mapping.value, dim, value as Axis));
  };
  const canBeFixed = typeof role === 'number' || role === 'c' || role === 'n' || hasOther(mode, role);
  return (
    <div class="dimension" data-testid={`dim-${dim}`}>
      <span class="faint num" title={`Dimension ${dim}`}>
        {title} <b>{length}</b>
      </span>
      <select
        class="select small"
        aria-label={`Role of dimension ${dim}`}
        value={typeof role === 'number' ? 'index' : role}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="index" disabled={!canBeFixed}>
          index
        </option>
        {AXES[mode].map(({ axis, label, title }) => (
          <option key={axis} value={axis} title={title} disabled={axis === 'c' && !canBeColour(length)}>
            {label}
          </option>
        ))}
      </select>
      {typeof role === 'number' && <IndexSlider dim={dim} length={length} index={role} />}
    </div>
  );
}

/** A table may be one row; a heatmap, an image and a line need their axes. */
function hasOther(mode: ValueMode, role: Axis): boolean {
  return mode === 'table' && dimOf(mapping.value, role === 'y' ? 'x' : 'y') >= 0;
}

/** The dimension that is playing, and its tensor. */
const playing = signal<{ tensor: string | null; dim: number } | null>(null);

const FRAME_MS = 250;

/** Advances to the next index, cyclic, after the current slice has loaded. */
function usePlay(dim: number, index: number, length: number, set: (index: number) => void): boolean {
  const on = playing.value?.dim === dim && playing.value.tensor === chosenTensor.value;
  const waiting = slice.loading.value;
  useEffect(() => {
    if (!on || waiting) return;
    const timer = setTimeout(() => set((index + 1) % length), FRAME_MS);
    return () => clearTimeout(timer);
  }, [on, waiting, index, length]);
  return on;
}

function IndexSlider({ dim, length, index }: { dim: number; length: number; index: number }) {
  const set = (value: number) => {
    if (!Number.isInteger(value)) return;
    focusedElement.value = null;
    chooseMapping(assignIndex(mapping.value, dim, Math.max(0, Math.min(length - 1, value))));
  };
  const on = usePlay(dim, index, length, set);
  const toggle = () => {
    playing.value = on ? null : { tensor: chosenTensor.value, dim };
  };
  return (
    <>
      <IconButton
        small
        icon={on ? 'pause' : 'play'}
        label={`${on ? 'Pause' : 'Play through'} dimension ${dim}`}
        onClick={toggle}
        disabled={length < 2}
        testid={`play-dim-${dim}`}
      />
      <input
        type="range"
        class="slider"
        aria-label={`Index in dimension ${dim}`}
        min={0}
        max={length - 1}
        value={index}
        onInput={(event) => set(Number(event.currentTarget.value))}
      />
      <input
        type="number"
        class="field small index-field num"
        aria-label={`Index in dimension ${dim}, as a number`}
        min={0}
        max={length - 1}
        value={index}
        onChange={(event) => {
          const field = event.currentTarget;
          const text = field.value;
          // Back to the current value; a valid number is written by the next render.
          field.value = String(index);
          if (text !== '') set(Number(text));
        }}
      />
    </>
  );
}
