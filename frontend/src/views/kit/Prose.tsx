import { type CutWord, cutLongWords, splitDirections } from '../../lib/text/visible_text';

/**
 * A sentence or a name whose overlong words are shortened in the middle. The tooltip and the clipboard have the whole word. Right-to-left
 * words do not reorder the text around them.
 */
export function Prose({ text }: { text: string }) {
  return (
    <>{cutLongWords(text).map((part, i) => (typeof part === 'string' ? <Isolated key={i} text={part} /> : <Cut key={i} word={part} />))}</>
  );
}

function Cut({ word: { start, middle, end } }: { word: CutWord }) {
  return (
    <span class="cut-word" title={start + middle + end}>
      <span>
        <Isolated text={start} />
      </span>
      <span>{middle}</span>
      <span>
        <Isolated text={end} />
      </span>
    </span>
  );
}

function Isolated({ text }: { text: string }) {
  return <>{splitDirections(text).map((part, i) => (i % 2 === 1 ? <bdi key={i}>{part}</bdi> : part))}</>;
}
