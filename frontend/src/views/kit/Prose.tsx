import { type CutWord, cutLongWords } from '../../lib/long_words';

/** A sentence or a name: of overlong words in it the middle is not drawn. The tooltip has the whole word, and so has what is copied. */
export function Prose({ text }: { text: string }) {
  return <>{cutLongWords(text).map((part, i) => (typeof part === 'string' ? part : <Cut key={i} word={part} />))}</>;
}

function Cut({ word: { start, middle, end } }: { word: CutWord }) {
  return (
    <span class="cut-word" title={start + middle + end}>
      <span>{start}</span>
      <span>{middle}</span>
      <span>{end}</span>
    </span>
  );
}
