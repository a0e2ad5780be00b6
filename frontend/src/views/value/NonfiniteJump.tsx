import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../lib/format';
import type { Nonfinite, Snapshot } from '../../model/wire/answers';
import { infinities } from '../../model/wire/statistics';
import { api } from '../../state/provider';
import { focusElement, keyText, snapshotKey } from '../../state/tensors/value';
import { Icon } from '../kit/Icon';

/** How many places are fetched; beyond that the count says how many there are. */
const MOST_PLACES = 1000;

/** Goes from one NaN or Inf to the next. */
export function NonfiniteJump({ row }: { row: Snapshot }) {
  const [found, setFound] = useState<{ of: string; places: Nonfinite; at: number } | null>(null);
  const key = keyText.value;
  useEffect(() => setFound(null), [key]);
  if (row.nan + infinities(row) === 0) return null;

  const next = async () => {
    const of = snapshotKey.peek();
    if (of === null || key === null) return;
    const places = found?.of === key ? found.places : await api().nonfinite(of, MOST_PLACES);
    const at = found?.of === key ? (found.at + 1) % places.indices.length : 0;
    const index = places.indices[at];
    if (keyText.peek() !== key || !index) return;
    setFound({ of: key, places, at });
    focusElement(index);
  };
  const none = found?.places.total === 0;
  const place = none ? ': none of them was kept' : found ? ` ${formatCount(found.at + 1)} of ${formatCount(found.places.total)}` : '';
  return (
    <button
      type="button"
      class="button small num"
      onClick={() => void next().catch(() => setFound(null))}
      title="Go to the next NaN or Inf"
      data-testid="next-nonfinite"
    >
      <Icon name="warning" />
      Next NaN/Inf{place}
    </button>
  );
}
