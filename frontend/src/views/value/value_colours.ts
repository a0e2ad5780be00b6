import { computed, signal } from '@preact/signals';
import type { ColormapName } from '../../lib/colours';
import type { Paint } from '../../model/value/raster';
import { finiteRange, type NumberRange, robustRange, symmetric } from '../../model/value/raster';
import { chosenTensor } from '../../state/page/choices';
import { theme } from '../../state/page/preferences';
import { slice } from '../../state/tensors/value';
import { chartColours } from '../charts/chart_theme';

/** Mapping of values to colours in heatmaps and images. `auto`: diverging if both signs occur. */
export type ColourChoice = ColormapName | 'auto';

export const colourChoice = signal<ColourChoice>('auto');

/** Typed limits; null for the range of the data. They belong to one tensor. */
const typedRange = signal<{ tensor: string | null; low: number | null; high: number | null }>({ tensor: null, low: null, high: null });

export const numbers = computed(() => slice.data.value?.numbers() ?? new Float64Array());

/** Null if no number of the slice is finite. */
export const finiteLimits = computed(() => finiteRange(numbers.value));

const dataRange = computed(() => finiteLimits.value ?? { low: 0, high: 1 });

export const clip = computed(() => (typedRange.value.tensor === chosenTensor.value ? typedRange.value : { low: null, high: null }));

/** Limits in the wrong order are swapped. */
export function setClip(first: number | null, last: number | null): void {
  const [low, high] = first !== null && last !== null && first > last ? [last, first] : [first, last];
  typedRange.value = { tensor: chosenTensor.value, low, high };
}

export function clipOutliers(): void {
  const range = robustRange(numbers.value);
  if (range) setClip(range.low, range.high);
}

/** The active colour scale: a picture is grey, a grid of maps is not. */
function scaleFor(image: boolean): ColormapName {
  const choice = colourChoice.value;
  if (choice !== 'auto') return choice;
  if (dataRange.value.low < 0 && dataRange.value.high > 0) return 'diverging';
  return image && !slice.data.value?.request.mapping.includes('n') ? 'grey' : 'viridis';
}

function rangeFor(scale: ColormapName): NumberRange {
  const automatic = scale === 'diverging' ? symmetric(dataRange.value) : dataRange.value;
  const [low, high] = [clip.value.low ?? automatic.low, clip.value.high ?? automatic.high];
  return { low: Math.min(low, high), high: Math.max(low, high) };
}

export function paintFor(image: boolean): Paint {
  const scale = scaleFor(image);
  const { nan, inf } = chartColours(theme.value);
  return { colormap: scale, range: rangeFor(scale), nan, inf };
}
