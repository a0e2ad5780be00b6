import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { badColour } from '../../model/run/problem_page';
import type { NonfiniteProblem } from '../../model/wire/answers';
import { evidenceTexts, type Finding } from '../../model/wire/findings';
import { splitScope } from '../../model/wire/names';
import { chosenTensor, view } from '../../state/page/choices';
import { problemsWidth } from '../../state/page/preferences';
import { toggleProblems } from '../../state/page/ui';
import { report, shownGroups } from '../../state/problems/findings';
import {
  counting,
  damaged,
  intendedProblems,
  judging,
  nonfiniteCount,
  notices,
  problems,
  wrongProblems,
} from '../../state/problems/problems';
import { graphId, nanUncounted } from '../../state/runs';
import { goTo } from '../../state/selection';
import { step } from '../../state/steps';
import { IconButton } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { Prose } from '../kit/Prose';
import { LinkedProse } from './LinkedProse';
import { OriginSummary } from './OriginCard';

/** Tensors with NaN or Inf: origins first, then by first step and data flow. Start with the first one. */
export function ProblemsSidebar() {
  return (
    <aside class="sidebar" aria-label="Problems" style={{ width: `${problemsWidth.value}px` }}>
      <div class="pane-head">
        <span class="pane-title grow">Problems</span>
        <IconButton small icon="close" label="Close problems sidebar (Shift+W)" onClick={toggleProblems} />
      </div>
      <ProblemList />
    </aside>
  );
}

/** The problems, without a column around them. */
export function ProblemList() {
  const [first] = wrongProblems.value;
  return (
    <>
      <button type="button" class="button primary explain" onClick={explain} data-testid="explain">
        View all problems
      </button>
      {first && !report.value?.origins.length && <FirstProblem problem={first} />}
      <OriginSummary />
      <FindingList />
      {(nonfiniteCount.value > 0 || shownGroups.value.length === 0) && <TensorList />}
      <Notices />
    </>
  );
}

const explain = () => {
  view.value = 'problems';
};

function TensorList() {
  const error = problems.error.value;
  if (nonfiniteCount.value === 0 && error) return <Failure error={error} retry={problems.reload} />;
  if (counting.value) return <Message title="Counting NaN/Inf…" />;
  if (nonfiniteCount.value === 0 && nanUncounted.value) {
    return (
      <Message title="NaN and Inf were not counted">
        <p>This import format has no NaN/Inf counts, so finiteness is unknown.</p>
      </Message>
    );
  }
  if (nonfiniteCount.value === 0) {
    return (
      <Message title="No NaN, no Inf">
        <p>All {damaged.value && 'readable '}captured tensors are finite. If training still fails, capture more tensors or steps.</p>
      </Message>
    );
  }
  const rows = [
    ...wrongProblems.value.map((problem) => tensorRow(problem, false)),
    ...intendedProblems.value.map((problem) => tensorRow(problem, true)),
  ];
  return (
    <div class="problem-list" data-testid="problems">
      <Rows rows={rows} />
    </div>
  );
}

function FirstProblem({ problem }: { problem: NonfiniteProblem }) {
  return (
    <div class="problem-first" data-bad={badColour(problem)}>
      <button
        type="button"
        class="link"
        title={visible(problem.tensor)}
        onClick={() => goTo({ graph: problem.graph, tensor: problem.tensor, step: problem.first_step })}
      >
        First {problem.nan > 0 ? 'NaN' : 'Inf'} at <b class="num">step {problem.first_step}</b> in{' '}
        <b>{problem.op_type || splitScope(problem.node).label}</b>
      </button>
      . {judging.value ? 'Analysing…' : 'Later entries may only propagate it.'}
    </div>
  );
}

/** Findings of the rules: what, since when, with which evidence. */
function FindingList() {
  const found = shownGroups.value.flatMap((group) => group.findings);
  if (found.length === 0) return null;
  return (
    <section class="finding-list" aria-label="Findings of rules" data-testid="findings">
      <Rows rows={found.map(findingRow)} />
    </section>
  );
}

/** A row of the list: problem, severity, place and first step. A click goes there. */
interface ProblemRow {
  readonly key: string;
  readonly title: string;
  readonly chips: readonly { readonly text: string; readonly class: string }[];
  /** A sentence, or a place. */
  readonly about: { readonly sentence: string } | { readonly scope: string };
  readonly when: string;
  readonly tooltip: string;
  readonly place: { readonly graph: string; readonly tensor: string; readonly step: number };
  readonly attributes: Readonly<Record<`data-${string}`, string | number | boolean>>;
}

function findingRow(finding: Finding): ProblemRow {
  const [first] = finding.evidence;
  const { value, threshold } = first ? evidenceTexts(first) : { value: '', threshold: null };
  const evidence = first ? [`Step ${first.step}: ${first.name} ${value}${threshold === null ? '' : ` (threshold ${threshold})`}`] : [];
  const source = finding.frame ? `${finding.frame.file}:${finding.frame.line}` : '';
  const colour = { high: 'nan', medium: 'inf', low: '' }[finding.severity];
  return {
    key: `${finding.rule} ${finding.graph} ${finding.tensor} ${finding.text}`,
    title: finding.title,
    chips: [{ text: finding.severity, class: colour }],
    about: { sentence: finding.text },
    when: `from step ${finding.first_step} (${finding.steps} of ${finding.of} steps)`,
    tooltip: [...evidence, finding.source && `Threshold source: ${finding.source}`, finding.help, `Next: ${finding.next_look}`, source]
      .filter(Boolean)
      .join('\n'),
    place: { graph: finding.graph, tensor: finding.tensor, step: finding.first_step },
    attributes: { 'data-testid': 'finding', 'data-rule': finding.rule, 'data-severity': finding.severity },
  };
}

function tensorRow(problem: NonfiniteProblem, intended: boolean): ProblemRow {
  const { scope, label } = splitScope(problem.node);
  const onShow = chosenTensor.value === problem.tensor && graphId.value === problem.graph;
  const chips = [
    { text: intended ? 'expected' : '', class: '' },
    { text: problem.nan > 0 ? `${formatCount(problem.nan)} NaN` : '', class: 'nan num' },
    { text: problem.inf > 0 ? `${formatCount(problem.inf)} Inf` : '', class: 'inf num' },
  ];
  return {
    key: `${problem.graph} ${problem.tensor}`,
    title: label,
    chips: chips.filter(({ text }) => text !== ''),
    about: { scope: scope.replace(/\/$/, '') || '(root)' },
    when: `step ${problem.first_step}${problem.steps > 1 ? ` · ${formatCount(problem.steps)} steps` : ''}`,
    tooltip: intended ? `${problem.tensor}\nExpected or without effect. See Problems for the reason.` : problem.tensor,
    place: { graph: problem.graph, tensor: problem.tensor, step: problem.first_step },
    attributes: {
      'data-testid': 'problem',
      'data-node': problem.node,
      'data-step': problem.first_step,
      'data-selected': onShow && step.value === problem.first_step,
      'data-intended': intended,
    },
  };
}

function Rows({ rows }: { rows: readonly ProblemRow[] }) {
  return (
    <>
      {rows.map(({ key, title, chips, about, when, tooltip, place, attributes }) => (
        <button key={key} type="button" class="problem" title={tooltip} onClick={() => goTo(place)} {...attributes}>
          <span class="name truncate">{title}</span>
          <span class="row">
            {chips.map((chip) => (
              <span key={chip.text} class={`chip ${chip.class}`}>
                {chip.text}
              </span>
            ))}
          </span>
          {'sentence' in about ? (
            <span class="finding-text">
              <Prose text={about.sentence} />
            </span>
          ) : (
            <span class="scope truncate">{about.scope}</span>
          )}
          <span class="when num">{when}</span>
        </button>
      ))}
    </>
  );
}

/** What was lost or cannot be read. */
export function Notices() {
  if (notices.value.length === 0) return null;
  return (
    <ul class="notices">
      {notices.value.map((sentence) => (
        <li key={sentence}>
          <LinkedProse text={sentence} />
        </li>
      ))}
    </ul>
  );
}
