import { type ComponentChildren, Fragment } from 'preact';
import { counted, formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { LedgerEntry } from '../../model/wire/findings';
import { comparedPairs, ledgerHeading, zeroAt } from '../../model/wire/findings';
import { ledger, ledgerHealthy, ledgerNews, ledgerProgress } from '../../state/problems/findings';
import { AnalysisProgress, Failure } from '../kit/Message';
import { Prose } from '../kit/Prose';
import { LinkedProse } from './LinkedProse';
import { TensorLink } from './PlaceLinks';

const MOST = 100; // variables that are listed

/** Variables that do not train: gradients that are exactly zero and why, and updates lost to rounding. */
export function ZeroGradients() {
  const news = ledgerNews.value;
  return (
    <>
      <AnalysisProgress what="Tracing zero gradients" progress={ledgerProgress.value} />
      {ledger.error.value && <Failure error={ledger.error.value} retry={ledger.reload} />}
      {news.length > 0 && (
        <article class="problem-card" aria-label="Variables with zero gradient" data-testid="ledger">
          <h3>
            <span class="grow">{ledgerHeading(news)}</span>
          </h3>
          <table class="ledger">
            <thead>
              <tr>
                <th>Variable</th>
                <th>Why</th>
                <th class="num">Zero at</th>
                <th class="num" title="Updates lost to rounding (w + Δw == w)">
                  Updates lost
                </th>
              </tr>
            </thead>
            <tbody>
              {news.slice(0, MOST).map((entry) => (
                <Row key={`${entry.graph} ${entry.tensor}`} entry={entry} />
              ))}
            </tbody>
          </table>
          {news.length > MOST && <p class="faint">{formatCount(news.length - MOST)} more: tensortap ledger RUN --all lists them.</p>}
          {ledgerHealthy.value > 0 && <p class="faint">Neither in {counted(ledgerHealthy.value, 'other variable')}.</p>}
        </article>
      )}
    </>
  );
}

/** A name that may wrap after its slashes. */
function breakable(name: string): ComponentChildren {
  return name.split(/(?<=\/)/).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      <Prose text={part} />
    </Fragment>
  ));
}

function Row({ entry }: { entry: LedgerEntry }) {
  const place = { graph: entry.graph, tensor: entry.begins || entry.tensor, step: entry.first_zero_step ?? 0 };
  return (
    <tr data-reason={entry.reason}>
      <td>{breakable(visible(entry.variable))}</td>
      <td>
        {entry.reason && <b>{entry.reason === 'unknown' ? 'unknown' : entry.reason}</b>}
        {entry.why && (
          <div>
            <LinkedProse
              text={entry.why}
              place={{ graph: entry.graph, ...(entry.first_zero_step !== null && { step: entry.first_zero_step }) }}
            />
          </div>
        )}
        {entry.first_zero_step !== null && <TensorLink place={place} />}
      </td>
      <td class="num">
        {zeroAt(entry)}
        {entry.first_zero_step !== null && <div class="faint">since {entry.first_zero_step}</div>}
      </td>
      <td class="num">
        {entry.absorbed === null ? <span class="faint">unknown</span> : `${(100 * entry.absorbed).toFixed(0)} %`}
        {comparedPairs(entry) && <div class="faint">{comparedPairs(entry)}</div>}
      </td>
    </tr>
  );
}
