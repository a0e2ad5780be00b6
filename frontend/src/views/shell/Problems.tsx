import { formatCount } from '../../lib/format';
import { badColour } from '../../model/run/problem_page';
import type { NonfiniteProblem } from '../../model/wire/answers';
import { splitScope } from '../../model/wire/names';
import { chosenTensor, view } from '../../state/choices';
import { problemsWidth } from '../../state/preferences';
import { report, shownGroups } from '../../state/problems/findings';
import { counting, intendedProblems, judging, nonfiniteCount, notices, problems, wrongProblems } from '../../state/problems/problems';
import { graphId, nanUncounted } from '../../state/runs';
import { goTo } from '../../state/selection';
import { step } from '../../state/steps';
import { toggleProblems } from '../../state/ui';
import { IconButton } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { Birth } from './Birth';
import { Findings } from './Findings';

/** The tensors that hold NaN or Inf: where it was born, then the others in order of first step and data flow. The first one is where to look. */
export function Problems() {
  return (
    <aside class="sidebar" aria-label="Problems" style={{ width: `${problemsWidth.value}px` }}>
      <div class="pane-head">
        <span class="pane-title grow">Problems</span>
        <IconButton small icon="close" label="Close the list (n)" onClick={toggleProblems} />
      </div>
      <ProblemsBody />
    </aside>
  );
}

/** What is wrong, without the column around it. */
export function ProblemsBody() {
  const [first] = wrongProblems.value;
  return (
    <>
      <button type="button" class="button primary explain" onClick={explain} data-testid="explain">
        Explain all (w)
      </button>
      {first && !report.value?.births.length && <FirstProblem problem={first} />}
      <Birth />
      <Findings />
      {(nonfiniteCount.value > 0 || shownGroups.value.length === 0) && <ProblemList />}
      <Notices />
    </>
  );
}

const explain = () => {
  view.value = 'problems';
};

function ProblemList() {
  const error = problems.error.value;
  if (nonfiniteCount.value === 0 && error) return <Failure error={error} retry={problems.reload} />;
  if (counting.value) return <Message title="Looking for NaN and Inf …" />;
  if (nonfiniteCount.value === 0 && nanUncounted.value) {
    return (
      <Message title="NaN and Inf were not counted">
        <p>The run was imported from a format that does not tell them: whether every tensor is finite is unknown.</p>
      </Message>
    );
  }
  if (nonfiniteCount.value === 0) {
    return (
      <Message title="No NaN, no Inf">
        <p>Every captured tensor is finite. If training went wrong all the same, watch more tensors or more steps.</p>
      </Message>
    );
  }
  return (
    <div class="problem-list" data-testid="problems">
      {wrongProblems.value.map((problem) => (
        <ProblemRow key={`${problem.graph} ${problem.tensor}`} problem={problem} />
      ))}
      {intendedProblems.value.map((problem) => (
        <ProblemRow key={`${problem.graph} ${problem.tensor}`} problem={problem} intended />
      ))}
    </div>
  );
}

const show = (problem: NonfiniteProblem) => goTo({ graph: problem.graph, tensor: problem.tensor, step: problem.first_step });

function FirstProblem({ problem }: { problem: NonfiniteProblem }) {
  return (
    <div class="problem-first" data-bad={badColour(problem)}>
      First {problem.nan > 0 ? 'NaN' : 'Inf'} at <b class="num">step {problem.first_step}</b> in{' '}
      <b>{problem.op_type || splitScope(problem.node).label}</b>.{' '}
      {judging.value ? 'Whether it matters is being looked into …' : 'What comes after it in the list may only pass it on.'}
    </div>
  );
}

function ProblemRow({ problem, intended = false }: { problem: NonfiniteProblem; intended?: boolean }) {
  const { scope, label } = splitScope(problem.node);
  const onShow = chosenTensor.value === problem.tensor && graphId.value === problem.graph;
  const selected = onShow && step.value === problem.first_step;
  return (
    <button
      type="button"
      class="problem"
      onClick={() => show(problem)}
      title={intended ? `${problem.tensor}\nIntended, or without effect: the list of all problems (w) says why.` : problem.tensor}
      data-testid="problem"
      data-node={problem.node}
      data-step={problem.first_step}
      data-selected={selected}
      data-intended={intended}
    >
      <span class="name truncate">{label}</span>
      <span class="row">
        {intended && <span class="chip">intended</span>}
        {problem.nan > 0 && <span class="chip nan num">{formatCount(problem.nan)} NaN</span>}
        {problem.inf > 0 && <span class="chip inf num">{formatCount(problem.inf)} Inf</span>}
      </span>
      <span class="scope truncate">{scope.replace(/\/$/, '') || 'top level'}</span>
      <span class="when num">
        step {problem.first_step}
        {problem.steps > 1 ? ` · ${formatCount(problem.steps)} steps` : ''}
      </span>
    </button>
  );
}

function Notices() {
  if (notices.value.length === 0) return null;
  return (
    <ul class="notices">
      {notices.value.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
