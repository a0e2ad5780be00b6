import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { splitScope, tensorName } from '../../model/wire/names';
import { handleReads, node, visits } from '../../state/graph/node';
import { chosenVisit } from '../../state/page/choices';
import { selectNode, selectTensor } from '../../state/selection';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { ComputeOffer } from '../value/ComputeOffer';

/** The tensor has no snapshot at any step: how to capture it. */
export function NotCaptured() {
  const reads = handleReads.value;
  if (reads !== null)
    return (
      <Message title="No value" testid="not-captured">
        <p>A handle of a resource (a variable, an iterator, a table) has no values itself.</p>
        <HandleReads reads={reads} />
      </Message>
    );
  const detail = node.data.value;
  const name = detail?.name ?? '…';
  const code = `watch = tensortap.Watch(nodes=${JSON.stringify(escapeRegex(name))})\ntap = tensortap.Tap("logs/run", watch=watch)`;
  return (
    <Message title="Not captured" testid="not-captured">
      <p>Not captured in this run. To capture it, add:</p>
      <CodeBlock code={code} label="Copy code" />
      <ComputeOffer />
    </Message>
  );
}

/** Links to the nodes that read a variable; those of a training step also read it for its gradient. */
export function HandleReads({ reads }: { reads: readonly string[] }) {
  if (reads.length === 0) return null;
  return (
    <p>
      Its values are read by{' '}
      <button type="button" class="link mono" onClick={() => selectNode(reads[0]!)} data-testid="handle-read">
        {visible(reads[0]!)}
      </button>
      {reads.length > 1 && ` and ${counted(reads.length - 1, 'other node')}`}.
    </p>
  );
}

export function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Shown instead of a chart of text, or of a tensor without elements. */
export function NoNumbers({ text }: { text: string }) {
  return (
    <Message title="No data to plot" testid="no-numbers">
      <p>{text}</p>
    </Message>
  );
}

/** Iterations of a chart over steps, if there are several in a step. */
export function VisitNote() {
  const chosen = chosenVisit.value;
  if (chosen === null) return visits.value.length > 1 ? <>All {visits.value.length} loop iterations; pick one above. </> : null;
  if (chosen === 0 && visits.value.length < 2) return null;
  const all = () => {
    chosenVisit.value = null;
  };
  return (
    <>
      Iteration {chosen} of each step (
      <button type="button" class="link" onClick={all} data-testid="all-visits">
        show all iterations
      </button>
      ).{' '}
    </>
  );
}

/** The address requests an output that the node does not have. */
export function NoSuchOutput({ slot }: { slot: number }) {
  const detail = node.data.value;
  if (detail === null) return null;
  const { name, outputs } = detail;
  const [first] = outputs;
  return (
    <Message title={`${splitScope(name).label} has no output :${slot}`} testid="no-output">
      <p>
        It has {outputs.length === 0 ? 'none' : counted(outputs.length, 'output')}
        {first && `: ${outputs.map((output) => `:${output.slot}`).join(', ')}`}. The link may be from another version of the program.
      </p>
      {first && (
        <div class="actions">
          <button type="button" class="button primary" onClick={() => selectTensor(tensorName(name, first.slot))}>
            Show :{first.slot}
          </button>
        </div>
      )}
    </Message>
  );
}
