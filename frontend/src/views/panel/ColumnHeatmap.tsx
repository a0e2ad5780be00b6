import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { formatNumber } from '../../lib/format';
import { finiteRange, type NumberRange, type Paint, planeRaster, symmetric } from '../../model/value/raster';
import type { Slice } from '../../model/value/slice';
import { theme } from '../../state/preferences';
import { chartColours } from '../charts/chart_theme';

/** One scale for matrices that stand side by side: equal colours are equal numbers. Null where nothing is finite. */
export function sharedRange(slices: readonly Slice[]): NumberRange | null {
  const ranges = slices.map((slice) => finiteRange(slice.numbers())).filter((range) => range !== null);
  if (ranges.length === 0) return null;
  return { low: Math.min(...ranges.map(({ low }) => low)), high: Math.max(...ranges.map(({ high }) => high)) };
}

interface ColumnHeatmapProps {
  slice: Slice;
  /** The scale of all columns. */
  range: NumberRange;
  label: string;
}

/** A value as a small heatmap, in the colours of its neighbours. */
export function ColumnHeatmap({ slice, range, label }: ColumnHeatmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shade = theme.value;
  const signs = range.low < 0 && range.high > 0;
  const raster = useMemo(() => {
    const { nan, inf } = chartColours(shade);
    const paint: Paint = { colormap: signs ? 'diverging' : 'viridis', range: signs ? symmetric(range) : range, nan, inf };
    return planeRaster(slice, paint);
  }, [slice, range.low, range.high, shade]);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    context?.putImageData(new ImageData(raster.rgba, raster.width, raster.height), 0, 0);
  }, [raster]);
  const fixed = slice.request.mapping.filter((role) => typeof role === 'number').length;
  return (
    <figure class="side-heatmap">
      <canvas ref={canvas} width={raster.width} height={raster.height} role="img" aria-label={`Heatmap of ${label}`} />
      <figcaption class="num faint">
        {formatNumber(range.low, 3)} … {formatNumber(range.high, 3)}, one scale for all columns
        {fixed > 0 && '; other dimensions at 0'}
      </figcaption>
    </figure>
  );
}
