import { useState } from 'preact/hooks';
import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { FindingGroup as Group } from '../../model/run/problem_page';
import { evidenceTexts, type Finding } from '../../model/wire/findings';
import { isMutedHere, toggleMute } from '../../state/problems/findings';
import { Prose } from '../kit/Prose';
import { LinkedProse } from './LinkedProse';
import { NextLooks, SourceLink, StepLink, TensorLink } from './PlaceLinks';

/** Findings of one rule; the first in full, one line for each of the others. */
export function FindingCard({ group }: { group: Group }) {
  const [chosen, choose] = useState(0);
  const finding = group.findings[chosen] ?? group.findings[0];
  if (!finding) return null;
  const others = group.findings.map((_, i) => i).filter((i) => i !== group.findings.indexOf(finding));
  return (
    <article class="problem-card" data-severity={group.severity} data-rule={group.rule} data-testid="finding-group">
      <h3>
        <span class="severity" data-severity={group.severity}>
          {group.severity}
        </span>
        <span class="grow">
          <span class="rule-title">{group.title}</span> <span class="rule-id faint">{group.rule}</span>
        </span>
        <Mute group={group} />
      </h3>
      <p class="problem-reason">
        <LinkedProse text={finding.text} place={placeOf(finding)} />
      </p>
      <FindingBody finding={finding} />
      {group.findings.length > 1 && (
        <details class="problems-more" open={group.findings.length < 4}>
          <summary>
            {formatCount(chosen + 1)} of {formatCount(group.findings.length)} tensors · show all
          </summary>
          <ul class="origins">
            {others.map((i, place) => (
              // Keyed by position: the focus stays where it is, on the next sentence.
              <li key={place}>
                <button type="button" class="link" onClick={() => choose(i)}>
                  <Prose text={visible(group.findings[i]?.text ?? '')} />
                </button>
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}

const placeOf = ({ graph, evidence, first_step }: Finding) => ({ graph, step: evidence[0]?.step ?? first_step });

function FindingBody({ finding }: { finding: Finding }) {
  const place = { ...placeOf(finding), tensor: finding.tensor };
  return (
    <>
      {finding.help && (
        <p>
          <b>Suggested fix:</b> <LinkedProse text={finding.help} place={place} />
        </p>
      )}
      <dl class="finding-facts">
        <dt>Where</dt>
        <dd>
          <TensorLink place={place} />
          {finding.layer && (
            <span class="faint">
              {' '}
              <LinkedProse text={`layer ${finding.layer}`} place={place} />
            </span>
          )}
          <SourceLink frame={finding.frame} place={place} />
        </dd>
        <dt>Since</dt>
        <dd>
          from <StepLink step={finding.first_step} /> ({formatCount(finding.steps)} of {formatCount(finding.of)}{' '}
          {finding.looked_at || (finding.of === 1 ? 'captured step' : 'captured steps')})
        </dd>
        <dt>Evidence</dt>
        <dd>
          {finding.evidence.map((item) => {
            const { value, threshold } = evidenceTexts(item);
            return (
              <div key={`${item.step} ${item.name}`}>
                <StepLink step={item.step} />: {visible(item.name)} <b class="num">{value}</b>
                {threshold !== null && <span class="faint"> (threshold {threshold})</span>}
              </div>
            );
          })}
        </dd>
        <dt>Threshold source</dt>
        <dd>{finding.source || 'not specified'}</dd>
        {finding.next_look && <dt>Next step</dt>}
        {finding.next_look && (
          <dd>
            <LinkedProse text={finding.next_look} place={place} />
          </dd>
        )}
      </dl>
      <NextLooks place={place} />
    </>
  );
}

function Mute({ group }: { group: Group }) {
  const here = isMutedHere(group.rule);
  // Findings muted on the command line are unmuted there.
  if (!here && group.findings.every((finding) => finding.muted)) return <span class="faint">muted by tensortap rules --mute</span>;
  return (
    <button
      type="button"
      class="button quiet small"
      title={here ? 'Unhide' : 'Hide this rule in this run (this browser only)'}
      onClick={() => toggleMute(group.rule)}
    >
      {here ? 'Unmute' : 'Mute'}
    </button>
  );
}
