import { useState } from 'preact/hooks';
import { type Query, queryText } from '../../api/provider';
import { counted } from '../../lib/text/format';
import { metricOf, nonfiniteApart, pictureSelection, type TensorDifference } from '../../model/wire/comparison';
import { differenceQuery, selectedDifference, worstElement } from '../../state/compare/comparison';
import { api } from '../../state/provider';
import { metricText } from './CompareTable';

const WITHOUT_VALUES = {
  shapes: 'The shapes differ.',
  sample: 'Only samples were stored. Capture both runs with Watch(keep="value") and no sample= to see values.',
};

/** The selected tensor as four pictures: A, B, A - B, and the distance in representable numbers. */
export function DifferenceValues() {
  const row = selectedDifference.value;
  if (row === null) return null;
  return (
    <section class="compare-values" data-testid="compare-values" aria-label="Values side by side">
      {row.basis !== 'values' ? (
        <p class="faint">{row.basis === 'summaries' ? row.missing : WITHOUT_VALUES[row.basis]}</p>
      ) : row.shape_a.length < 2 || row.shape_a.includes(0) ? (
        <p class="faint num">{vectorText(row)}</p>
      ) : (
        <Pictures row={row} key={`${row.graph} ${row.tensor} ${row.visit}`} />
      )}
    </section>
  );
}

function vectorText(row: TensorDifference): string {
  const [most, mean] = [metricOf(row, 'max_abs'), metricOf(row, 'mean_abs')];
  const apart = nonfiniteApart(row);
  const said = [
    ...(apart > 0 ? [`NaN/Inf differs in ${counted(apart, 'element')}`] : []),
    ...(Number.isNaN(most) ? [] : [`${apart > 0 ? 'other elements: ' : ''}max |A−B| = ${metricText(most)}, mean ${metricText(mean)}`]),
  ];
  return `Of ${row.shape_a.join('×') || 'a scalar'}: ${said.join('; ') || 'difference unknown'}.`;
}

function Pictures({ row }: { row: TensorDifference }) {
  const worst = worstElement.data.value?.index ?? null;
  const [chosen, setChosen] = useState<readonly number[] | null>(null);
  const selection = pictureSelection(row.shape_a, chosen ?? worst ?? []);
  if (worstElement.loading.value && worst === null) return null;
  const [scale, most, ulp] = [metricOf(row, 'scale'), metricOf(row, 'max_abs'), metricOf(row, 'max_ulp')];
  const sides: [string, string, string, number, number][] = [
    ['a', 'A', `${row.dtype_a}, black ${metricText(-scale)}, white ${metricText(scale)}`, -scale, scale],
    ['b', 'B', `${row.dtype_b}, on the same scale`, -scale, scale],
    ['difference', 'A − B', most > 0 ? `grey is 0, black ${metricText(-most)}, white ${metricText(most)}` : 'grey is 0', -most, most],
    ['ulp', 'ULP', ulp > 0 ? `black is equal, white ${metricText(ulp)}` : 'black is equal', 0, ulp],
  ];
  return (
    <>
      {sides.map(([what, name, legend, low, high]) => (
        <Picture
          key={what}
          name={name}
          legend={legend}
          query={{ ...differenceQuery(row), what, selection, format: 'png', ...range(low, high) }}
        />
      ))}
      <div class="compare-slice">
        {row.shape_a.slice(0, -2).map((extent, axis) => (
          <Slice
            key={`axis ${axis}`}
            axis={axis}
            extent={extent}
            value={(chosen ?? worst)?.[axis] ?? 0}
            choose={(at) => setChosen(replaced(chosen ?? worst ?? row.shape_a.map(() => 0), axis, at))}
          />
        ))}
        {worst && (
          <p class="faint num">
            largest difference at [{worst.join(', ')}]
            {chosen && (
              <button type="button" class="button small" onClick={() => setChosen(null)}>
                Show
              </button>
            )}
          </p>
        )}
      </div>
    </>
  );
}

const replaced = (index: readonly number[], axis: number, at: number): number[] => index.map((each, i) => (i === axis ? at : each));

interface SliceProps {
  axis: number;
  extent: number;
  value: number;
  choose: (at: number) => void;
}

/** The displayed slice of a dimension that is not in the pictures. */
function Slice({ axis, extent, value, choose }: SliceProps) {
  return (
    <label class="labelled">
      <span>
        dimension {axis}, of {extent}
      </span>
      <input
        class="field small"
        type="number"
        min="0"
        max={extent - 1}
        value={value}
        onChange={(event) => {
          const at = Number(event.currentTarget.value);
          if (Number.isInteger(at) && at >= 0 && at < extent) choose(at);
        }}
        data-testid={`compare-slice-${axis}`}
      />
    </label>
  );
}

/** Limits only if they are ordered: those of equal tensors are not. */
function range(low: number, high: number): Query {
  return low < high && Number.isFinite(high) ? { low, high } : {};
}

function Picture({ name, legend, query }: { name: string; legend: string; query: Query }) {
  return (
    <figure>
      <figcaption>
        <b>{name}</b> <span class="faint num">{legend}</span>
      </figcaption>
      <img src={api().differenceHref(query)} alt={`${name} of the tensor`} key={queryText(query)} />
    </figure>
  );
}
