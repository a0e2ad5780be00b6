import type { Finding } from '../../model/wire/findings';
import { shownGroups } from '../../state/problems/findings';
import { goTo } from '../../state/selection';
import { Prose } from '../kit/Prose';

/** What rules found in the run: what, since when, on what evidence. A click leads to the tensor and step. */
export function Findings() {
  const found = shownGroups.value.flatMap((group) => group.findings);
  if (found.length === 0) return null;
  return (
    <section class="finding-list" aria-label="Findings of rules" data-testid="findings">
      {found.map((finding) => (
        <FindingRow key={`${finding.rule} ${finding.graph} ${finding.tensor} ${finding.text}`} finding={finding} />
      ))}
    </section>
  );
}

const show = (finding: Finding) => goTo({ graph: finding.graph, tensor: finding.tensor, step: finding.first_step });

function FindingRow({ finding }: { finding: Finding }) {
  const [first] = finding.evidence;
  const limit = first?.limit == null ? '' : ` (limit ${first.limit})`;
  const evidence = first ? `Step ${first.step}: ${first.name} ${first.value}${limit}. Limits: ${finding.source}.` : finding.source;
  const source = finding.frame ? `${finding.frame.file}:${finding.frame.line}` : '';
  return (
    <button
      type="button"
      class="problem"
      data-testid="finding"
      data-rule={finding.rule}
      data-severity={finding.severity}
      onClick={() => show(finding)}
      title={[evidence, finding.help, `Next: ${finding.next_look}`, source].filter(Boolean).join('\n')}
    >
      <span class="name truncate">{finding.rule}</span>
      <span class="row">
        <span class={`chip ${finding.severity === 'high' ? 'nan' : finding.severity === 'medium' ? 'inf' : ''}`}>{finding.severity}</span>
      </span>
      <span class="finding-text">
        <Prose text={finding.text} />
      </span>
      <span class="when num">
        step {finding.first_step} · {finding.steps} of {finding.of}
      </span>
    </button>
  );
}
