import { formatNumber } from '../../lib/format';
import type { Snapshot } from '../../model/wire/answers';
import { LABELS, STATISTICS } from '../../model/wire/statistics';
import { CopyButton } from '../kit/CopyButton';

/** The statistics over the finite elements; the full number is in the tooltip and is what is copied. */
export function StatisticsGrid({ row }: { row: Snapshot }) {
  return (
    <dl class="statistics num">
      {STATISTICS.map((name) => (
        <div key={name} title={`${LABELS[name]} = ${row[name]}`} data-testid={`statistic-${name}`}>
          <dt>{LABELS[name]}</dt>
          <dd>
            {Number.isNaN(row[name]) ? '–' : formatNumber(row[name], 5)}
            <CopyButton text={String(row[name])} label={`Copy ${LABELS[name]} of ${row.tensor}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
