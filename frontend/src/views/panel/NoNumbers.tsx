import { Message } from '../kit/Message';

/** Stands where a chart of text, or of a tensor without elements, would have empty axes. */
export function NoNumbers({ text }: { text: string }) {
  return (
    <Message title="Nothing to draw" testid="no-numbers">
      <p>{text}</p>
    </Message>
  );
}
