import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { gridRaster, planeRaster } from '../../model/value/raster';
import { type Slice, tilesLeftOut } from '../../model/value/slice';
import type { Snapshot } from '../../model/wire/answers';
import { markedElement, valueFile } from '../../state/tensors/value';
import { Switch } from '../kit/Button';
import { ColourBar } from './ColourBar';
import { RasterView } from './RasterView';
import { describe, Thinned } from './ValueHeatmap';
import { paintFor } from './value_colours';

const eachTile = signal(false);

/** Images: grey, RGB, or a grid of channels (feature maps, kernels). */
export function ValueImage({ data, row }: { data: Slice; row: Snapshot }) {
  const paint = paintFor(true);
  const grid = data.request.mapping.includes('n');
  const raster = useMemo(
    () => (grid ? gridRaster(data, paint, eachTile.value) : planeRaster(data, paint)),
    [data, JSON.stringify(paint), eachTile.value],
  );
  const hidden = tilesLeftOut(data, row.shape);
  return (
    <>
      <RasterView
        raster={raster}
        label={`Image of ${row.tensor}`}
        saveAs={valueFile(row, data.request.mapping)}
        describe={describe(data, row)}
        marked={markedElement.value}
      />
      <ColourBar paint={paint} dtype={row.dtype}>
        {hidden > 0 && <span class="chip">{hidden} more tiles</span>}
        <Thinned stride={data.stride} />
        {grid && (
          <Switch
            label="Normalize per tile"
            on={eachTile.value}
            title="Each tile uses its own colour range"
            onChange={() => {
              eachTile.value = !eachTile.value;
            }}
          />
        )}
      </ColourBar>
    </>
  );
}
