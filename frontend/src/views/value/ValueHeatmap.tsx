import { useMemo } from 'preact/hooks';
import { textAt } from '../../model/value/elements';
import { type Picked, planeRaster } from '../../model/value/raster';
import type { Slice } from '../../model/value/slice';
import type { Snapshot } from '../../model/wire/answers';
import { markedElement, valueFile } from '../../state/tensors/value';
import { ColourBar } from './ColourBar';
import { RasterView } from './RasterView';
import { paintFor } from './value_colours';

/** A matrix as colours. */
export function ValueHeatmap({ data, row }: { data: Slice; row: Snapshot }) {
  const paint = paintFor(false);
  const raster = useMemo(() => planeRaster(data, paint), [data, JSON.stringify(paint)]);
  return (
    <>
      <RasterView
        raster={raster}
        label={`Heatmap of ${row.tensor}`}
        saveAs={valueFile(row, data.request.mapping)}
        describe={describe(data, row)}
        marked={markedElement.value}
      />
      <ColourBar paint={paint} dtype={row.dtype}>
        <Thinned stride={data.stride} />
      </ColourBar>
    </>
  );
}

export function describe(data: Slice, row: Snapshot) {
  return ({ index, offsets }: Picked) =>
    `[${index.join(', ')}] = ${offsets.map((offset) => textAt(data.array, offset, row.dtype)).join(', ')}`;
}

/** Says that elements are skipped: a single NaN may then be invisible. */
export function Thinned({ stride }: { stride: number }) {
  if (stride === 1) return null;
  return (
    <span class="chip" title="Too large to draw every element; Table shows all">
      every {stride}th element
    </span>
  );
}
