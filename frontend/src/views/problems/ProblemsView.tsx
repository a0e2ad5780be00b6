import { useEffect } from 'preact/hooks';
import { counted, formatCount } from '../../lib/text/format';
import { badColour, type FindingGroup as Group, groupOrigins, pageHead } from '../../model/run/problem_page';
import { type Findings, type Origin, SEVERITIES } from '../../model/wire/findings';
import { raised } from '../../state/problems/events';
import {
  findingCounts,
  findings,
  missing,
  mutedGroups,
  nanAnswer,
  nanProgress,
  readRulesAgain,
  report,
  rulesProgress,
  shownGroups,
} from '../../state/problems/findings';
import { notices } from '../../state/problems/problems';
import { nanUncounted, nothingCaptured, run, runPhase } from '../../state/runs';
import { AnalysisProgress, Damage, Failure } from '../kit/Message';
import { FindingCard } from './FindingCard';
import { LinkedProse } from './LinkedProse';
import { OriginCard } from './OriginCard';
import { TensorLink } from './PlaceLinks';
import { ZeroGradients } from './ZeroGradients';

/** All problems of a run, worst first: what, where, since when, evidence, and next steps. */
export function ProblemsView() {
  useEffect(readRulesAgain, []);
  return (
    <section class="pane-body problems-page" aria-label="Problems of the run" tabIndex={0} data-testid="problems-page">
      <Headline />
      <Damage sentences={missing.value} />
      <AnalysisProgress what="Tracing NaN and Inf" progress={nanProgress.value} />
      {nanAnswer.error.value && <Failure error={nanAnswer.error.value} retry={nanAnswer.reload} />}
      {report.value && report.value.origins.length > 0 && <OriginCard report={report.value} />}
      <AnalysisProgress what="Checking rules" progress={rulesProgress.value} />
      {findings.error.value && <Failure error={findings.error.value} retry={findings.reload} />}
      {shownGroups.value.map((group) => (
        <FindingCard key={`${group.severity} ${group.rule}`} group={group} />
      ))}
      <ZeroGradients />
      <Harmless origins={report.value?.demoted ?? []} />
      <Muted groups={mutedGroups.value} />
      <Limits />
    </section>
  );
}

/** The verdict in one line. */
function Headline() {
  const [found, first] = [findings.data.value, report.value?.origins[0]];
  const counts = findingCounts.value;
  const total = counts.high + counts.medium + counts.low;
  if (nothingCaptured.value && run.data.value?.workers.length) return <Nothing />;
  if (found === null) return null;
  if (!first && total === 0 && nanAnswer.data.value === null) return null;
  if (!first && total === 0) return <Healthy found={found} />;
  return (
    <header class="problems-head">
      <h2>{pageHead(report.value?.origins ?? [], counts)}</h2>
      <span class="row">
        {first && (
          <span class="severity" data-bad={badColour(first.output)}>
            {first.kind}
          </span>
        )}
        {SEVERITIES.map((severity) => counts[severity] > 0 && <Count key={severity} severity={severity} count={counts[severity]} />)}
      </span>
      <p class="faint">
        {counted(found.rules, 'rule')} checked {counted(found.snapshots, 'snapshot')}
        {setBy(found)}. Findings are heuristics.
      </p>
    </header>
  );
}

function Count({ severity, count }: { severity: string; count: number }) {
  return (
    <span class="severity" data-severity={severity}>
      {formatCount(count)} {severity}
    </span>
  );
}

/** The file of rule settings. */
const setBy = (found: Findings): string => (found.rules_file ? ` with ${found.rules_file.name}` : '');

function Nothing() {
  return (
    <header class="problems-head" data-testid="healthy">
      <h2>{runPhase.value === 'over' ? 'No tensors captured' : 'No tensors captured yet'}</h2>
      <p>No data to check.</p>
    </header>
  );
}

function Healthy({ found }: { found: Findings }) {
  const live = run.data.value?.workers.some((worker) => !worker.closed);
  return (
    <header class="problems-head" data-testid="healthy">
      <h2>{healthyHead()}</h2>
      <p>
        {counted(found.rules, 'rule')} found nothing in {counted(found.snapshots, 'snapshot')}
        {setBy(found)}
        {live ? ' so far' : ''}
        {nanUncounted.value
          ? '. The import format has no NaN/Inf counts for all of them, so finiteness is unknown. '
          : `. No NaN or Inf ${missing.value.length > 0 ? 'in the readable data ' : ''}affects the loss or the weights. `}
        Uncaptured tensors were not checked.
      </p>
    </header>
  );
}

function healthyHead(): string {
  if (missing.value.length > 0) return 'No findings in the readable data';
  if (raised.value.length > 0) return 'No findings, but a step raised an exception';
  return nanUncounted.value ? 'No findings; NaN/Inf were not counted' : 'Healthy: no findings';
}

function Muted({ groups }: { groups: readonly Group[] }) {
  if (groups.length === 0) return null;
  return (
    <details class="problems-more">
      <summary>Muted: {groups.map((group) => group.title).join(', ')}</summary>
      {groups.map((group) => (
        <FindingCard key={`${group.severity} ${group.rule}`} group={group} />
      ))}
    </details>
  );
}

/** What could not be checked. */
function Limits() {
  const found = findings.data.value;
  const file = found?.rules_file;
  const rules = file?.error ? [`${file.name} was ignored: ${file.error} ${file.hint}`] : [];
  const leftOut = Object.entries(found?.left_out ?? {}).map(([rule, count]) => `${rule}: ${counted(count, 'less severe finding')} hidden`);
  const failed = Object.entries(findings.data.value?.failed ?? {}).map(([rule, why]) => `The rule ${rule} failed: ${why}`);
  // The card of the first origin describes its consequences.
  const notes = (report.value?.notes ?? []).filter((note) => note !== report.value?.origins[0]?.aftermath);
  const said = [...notes, ...missing.value];
  const others = notices.value.filter((notice) => !said.some((sentence) => sentence.includes(notice)));
  const sentences = [...rules, ...notes, ...leftOut, ...failed, ...others];
  if (sentences.length === 0) return null;
  return (
    <ul class="problems-notes">
      {sentences.map((sentence) => (
        <li key={sentence}>
          <LinkedProse text={sentence} />
        </li>
      ))}
    </ul>
  );
}

/** Expected infinities and NaN, each with the reason. */
function Harmless({ origins }: { origins: readonly Origin[] }) {
  if (origins.length === 0) return null;
  return (
    <details class="problems-more" data-testid="expected">
      <summary>Expected NaN/Inf: {counted(origins.length, 'tensor')} (masks, or no effect)</summary>
      <ul class="origins">
        {groupOrigins(origins).map(({ first, others }) => (
          <li key={first.tensor}>
            <TensorLink place={first} /> <span class="faint">{first.kind}</span>
            {others.length > 0 && <span class="faint"> and {formatCount(others.length)} more</span>}
            <div>
              <LinkedProse text={first.demoted} place={{ graph: first.graph, step: first.step }} />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
