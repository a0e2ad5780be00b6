import { type Query, queryText } from '../../api/provider';
import { metricOf, pictureSelection, type TensorDifference } from '../../model/comparison';
import { differenceQuery, selectedDifference } from '../../state/comparison';
import { api } from '../../state/provider';
import { numberText } from './numbers';

const WITHOUT_VALUES = {
  shapes: 'The shapes differ.',
  sample: 'Of the values a sample was kept: Watch(keep="value") without a sample in both runs shows them.',
  summaries: 'The values were not kept on both sides: Watch(keep="value") in both runs shows them.',
};

/** The selected tensor as four pictures: A, B, A - B, and how many representable numbers lie between. */
export function DifferenceValues() {
  const row = selectedDifference.value;
  if (row === null) return null;
  return (
    <section class="compare-values" data-testid="compare-values" aria-label="Values side by side">
      {row.basis !== 'values' ? (
        <p class="faint">{WITHOUT_VALUES[row.basis]}</p>
      ) : row.shape_a.length < 2 || row.shape_a.includes(0) ? (
        <p class="faint num">{vectorText(row)}</p>
      ) : (
        <Pictures row={row} />
      )}
    </section>
  );
}

function vectorText(row: TensorDifference): string {
  return `Of ${row.shape_a.join('×') || 'a scalar'}: ${numberText(metricOf(row, 'max_abs'))} apart at most, ${numberText(metricOf(row, 'mean_abs'))} on average.`;
}

function Pictures({ row }: { row: TensorDifference }) {
  const selection = pictureSelection(row.shape_a);
  const [scale, most, ulp] = [metricOf(row, 'scale'), metricOf(row, 'max_abs'), metricOf(row, 'max_ulp')];
  const sides: [string, string, string, number, number][] = [
    ['a', 'A', `${row.dtype_a}, black ${numberText(-scale)}, white ${numberText(scale)}`, -scale, scale],
    ['b', 'B', `${row.dtype_b}, on the same scale`, -scale, scale],
    ['difference', 'A − B', `grey is 0, black ${numberText(-most)}, white ${numberText(most)}`, -most, most],
    ['ulp', 'ULP', `black is equal, white ${numberText(ulp)}`, 0, ulp],
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
      {selection.includes('0') && <p class="faint">selection {selection}</p>}
    </>
  );
}

/** Limits only where they are in order: of equal tensors they are not. */
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
