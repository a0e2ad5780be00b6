import { formatCount, formatShare } from '../../lib/format';
import type { Snapshot } from '../../model/wire/answers';
import { type CountName, isUnknown, LABELS, uncounted } from '../../model/wire/statistics';

/** In the order they are drawn; subnormal numbers are part of negative and positive, so they have no piece of the bar. */
const PIECES: readonly CountName[] = ['nan', 'neg_inf', 'pos_inf', 'negative', 'zero', 'positive'];

/** What the elements are, as parts of a whole. A kind with a single element still shows; imported runs may not know all of them. */
export function CountsBar({ row }: { row: Snapshot }) {
  const shown = PIECES.filter((name) => row[name] > 0);
  const unknown = uncounted(row);
  const untold = PIECES.filter((name) => isUnknown(row[name]));
  return (
    <div class="counts">
      <div class="counts-bar" role="img" aria-label={shown.map((name) => `${LABELS[name]} ${row[name]}`).join(', ')}>
        {shown.map((name) => (
          <i
            key={name}
            class={`count-${name}`}
            style={{ flexGrow: String(row[name]) }}
            title={`${LABELS[name]}: ${formatCount(row[name])}`}
          />
        ))}
        {unknown > 0 && <i class="count-unknown" style={{ flexGrow: String(unknown) }} title={`not counted: ${formatCount(unknown)}`} />}
      </div>
      <ul class="counts-legend num">
        {[...shown, ...(row.subnormal > 0 ? (['subnormal'] as const) : [])].map((name) => (
          <li key={name} title={`${formatCount(row[name])} of ${formatCount(row.size)}`}>
            <i class={`count-${name}`} />
            {LABELS[name]} <b>{formatCount(row[name])}</b> <span class="faint">{formatShare(row[name], row.size)}</span>
          </li>
        ))}
        {unknown > 0 && (
          <li title="The run was imported from a format that does not tell">
            <i class="count-unknown" />
            not counted <b>{formatCount(unknown)}</b> <span class="faint">{formatShare(unknown, row.size)}</span>
          </li>
        )}
        {untold.length > 0 && (
          <li class="faint" data-testid="counts-unknown" title="The run was imported from a format that does not tell">
            {untold.map((name) => LABELS[name]).join(', ')}: unknown
          </li>
        )}
      </ul>
    </div>
  );
}
