import { visible } from '../../lib/text/visible_text';

/** Runs of one study differ at the end of their names, so this much of it stays. */
const END = 14;

/** A name whose middle is shortened if there is not enough room. */
export function LongName({ name }: { name: string }) {
  const letters = [...name]; // not halves of them
  const cut = Math.max(0, letters.length - END);
  return (
    <span class="long-name" title={name}>
      <span>{letters.slice(0, cut).join('')}</span>
      <span>{letters.slice(cut).join('')}</span>
    </span>
  );
}

/** The scope before a label; where there is no room for all, its beginning, which neighbours share, gives way. */
export function ScopePart({ scope }: { scope: string }) {
  return (
    <span class="faint scope-part">
      <bdi>{scope}</bdi>
    </span>
  );
}

interface CutPathProps {
  path: string;
  /** Positions of letters to mark. */
  marked?: ReadonlySet<number> | undefined;
  class?: string;
}

const NONE: ReadonlySet<number> = new Set();

/** A path whose scope is shortened at its end: all start at the same edge, and the last part stays complete. */
export function CutPath({ path, marked = NONE, class: name = '' }: CutPathProps) {
  const cut = path.lastIndexOf('/') + 1;
  return (
    <span class={`cut-path ${name}`} title={visible(path)}>
      {cut > 0 && (
        <bdi>
          <Letters text={path.slice(0, cut)} from={0} marked={marked} />
        </bdi>
      )}
      <bdi>
        <Letters text={path.slice(cut)} from={cut} marked={marked} />
      </bdi>
    </span>
  );
}

function Letters({ text, from, marked }: { text: string; from: number; marked: ReadonlySet<number> }) {
  const runs: { text: string; marked: boolean }[] = [];
  for (let i = 0; i < text.length; i++) {
    const [last, is] = [runs.at(-1), marked.has(from + i)];
    if (last?.marked === is) last.text += text[i];
    else runs.push({ text: text[i]!, marked: is });
  }
  return <>{runs.map((run, i) => (run.marked ? <mark key={i}>{visible(run.text)}</mark> : visible(run.text)))}</>;
}
