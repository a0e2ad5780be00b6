import { node } from '../../state/node';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { ComputeOffer } from '../value/ComputeOffer';

/** The tensor has no snapshot at any step: says how to capture it. */
export function NotCaptured() {
  const detail = node.data.value;
  const name = detail?.name ?? '…';
  const code = `watch = tensortap.Watch(nodes=${JSON.stringify(escapeRegex(name))})\ntap = tensortap.Tap("logs/run", watch=watch)`;
  return (
    <Message title="Not captured" testid="not-captured">
      <p>This run holds no snapshot of this tensor. Watch its node and run again:</p>
      <CodeBlock code={code} label="Copy the lines" />
      <ComputeOffer />
    </Message>
  );
}

export function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
