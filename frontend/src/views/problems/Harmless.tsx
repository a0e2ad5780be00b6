import { formatCount } from '../../lib/format';
import { bad, groupBirths } from '../../model/run/problem_page';
import type { Birth } from '../../model/wire/findings';
import { TensorLink } from './Places';

/** Infinities and NaN that are meant, or touch nothing that matters, each with the reason. */
export function Harmless({ births }: { births: readonly Birth[] }) {
  if (births.length === 0) return null;
  return (
    <details class="problems-more" data-testid="harmless">
      <summary>
        Harmless: {formatCount(births.length)} {births.length === 1 ? 'tensor holds' : 'tensors hold'} NaN or Inf on purpose, or without
        effect
      </summary>
      <ul class="births">
        {groupBirths(births).map(({ first, others }) => (
          <li key={first.tensor}>
            <TensorLink place={first} /> <span class="faint">{bad(first)}</span>
            {others.length > 0 && <span class="faint"> and {formatCount(others.length)} more</span>}
            <div>{first.demoted}</div>
          </li>
        ))}
      </ul>
    </details>
  );
}
