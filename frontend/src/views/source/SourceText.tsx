import { useEffect, useMemo, useState } from 'preact/hooks';
import { Throttle } from '../../lib/scheduling';
import { counted, formatCount } from '../../lib/text/format';
import { pythonTokens, type Token } from '../../lib/text/python_tokens';
import { virtualWindow } from '../../lib/virtual_scroll';
import { LINE, lineTop, type NumberedLine, numberedLines, PART, partsOf, type SourceLine, worst } from '../../model/run/source_lines';
import { nodeHealth, place, showLine, sourceFiles, sourceLines, sourceText } from '../../state/graph/source';
import { sourceWrapped } from '../../state/page/preferences';
import { useSize } from '../kit/hooks';
import { Failure } from '../kit/Message';

export const HEALTH_NAMES = ['', '', 'fine', 'inf', 'nan'] as const; // by the states of node_values.ts

/** The file's lines; if the dump does not embed it, those that created nodes. */
export function SourceText() {
  const { ref, height } = useSize<HTMLElement>();
  const [scroll, setScroll] = useState(0);
  const throttle = useMemo(() => new Throttle(), []);
  useEffect(() => () => throttle.cancel(), []);
  const [text, made] = [sourceText.data.value, sourceLines.value];
  const lines = useMemo(() => numberedLines(text, made), [text, made]);
  const parts = useMemo(() => partsOf(lines), [lines]);
  const tokens = useMemo(() => tokensByLine(lines, place.value.file), [lines]);
  const drawn = useMemo(() => new Set<number>(), [parts]);
  const seen = virtualWindow(scroll, height, PART * LINE, parts.length, 1);
  const wrapped = sourceWrapped.value;
  // They stay, because they may have the focus. Heights of wrapped lines are unknown before they are drawn.
  for (let part = wrapped ? 0 : seen.first; part < (wrapped ? parts.length : seen.last); part++) drawn.add(part);
  useLineInView(ref, lines, wrapped);
  if (sourceText.error.value) return <Failure error={sourceText.error.value} retry={sourceText.reload} />;
  const embedded = sourceFiles.value.find(({ file }) => file === place.value.file)?.embedded;
  return (
    <section
      class="source-text mono"
      ref={ref}
      aria-label="Program"
      tabIndex={0}
      data-wrapped={wrapped}
      onScroll={({ currentTarget }) => throttle.run(() => setScroll(currentTarget.scrollTop))}
    >
      {embedded === false && (
        <p class="source-hint">
          Source text not stored; showing only lines that created ops. <code>Tap(…, sources=True)</code>, the default, embeds the program's
          files at the next run.
        </p>
      )}
      {text !== null && (place.value.line ?? 0) > lines.length && (
        <p class="source-hint" role="status" data-testid="no-line">
          The file has no line {place.value.line}; it has {counted(lines.length, 'line')}.
        </p>
      )}
      {(text !== null || embedded === false) &&
        parts.map((part, i) => (
          <Part
            key={i}
            lines={part}
            tokens={tokens}
            drawn={drawn.has(i) || hasTabStops(part)}
            current={currentIn(part, place.value.line)}
          />
        ))}
    </section>
  );
}

type TokensByLine = ReadonlyMap<number, readonly Token[]>;

/** Tokens of a Python file; none for other files. */
function tokensByLine(lines: readonly NumberedLine[], file: string): TokensByLine {
  if (!/\.pyx?$/i.test(file)) return new Map();
  const tokens = pythonTokens(lines.map(({ text }) => text.replace(/\r$/, '')));
  return new Map(lines.map(({ line }, i) => [line, tokens[i]!]));
}

/** A line, coloured if it has tokens. */
export function Code({ text, tokens }: { text: string; tokens: readonly Token[] | undefined }) {
  if (!tokens || tokens.length === 0) return <>{text.replace(/\r$/, '') || ' '}</>;
  return (
    <>
      {tokens.map(({ kind, text: part }, i) =>
        kind === 'plain' ? (
          part
        ) : (
          <span key={i} class={`code-${kind}`}>
            {part}
          </span>
        ),
      )}
    </>
  );
}

/** The chosen line if it is one of these; other parts need not be redrawn. */
const currentIn = (part: readonly NumberedLine[], line: number | null) =>
  line !== null && part.some((one) => one.line === line) ? line : null;

/** Lines that created nodes are always buttons, so that Tab moves between them. */
const hasTabStops = (part: readonly NumberedLine[]) => part.some(({ line }) => sourceLines.value.has(line));

/** Scrolls to the chosen line, else to the first that created nodes. */
function useLineInView(ref: { current: HTMLElement | null }, lines: readonly NumberedLine[], wrapped: boolean): void {
  const { file, line } = place.value;
  useEffect(() => {
    const shown = ref.current;
    if (shown === null || lines.length === 0) return;
    const top = lineTop(lines, line, sourceLines.peek(), 0.8 * shown.clientHeight);
    const before = shown.querySelector<HTMLElement>('.source-part')?.offsetTop ?? 0;
    const drawn = wrapped ? shown.querySelector('[data-current=true]') : null;
    if (drawn) drawn.scrollIntoView({ block: 'center' });
    else if (top !== null) shown.scrollTop = before + top - shown.clientHeight / 2;
  }, [lines, line, file, wrapped]);
}

interface PartProps {
  lines: readonly NumberedLine[];
  tokens: TokensByLine;
  /** Parts of a long file are plain text until they scroll near, so that the browser's search finds them. */
  drawn: boolean;
  current: number | null;
}

function Part({ lines, tokens, drawn, current }: PartProps) {
  return (
    <div class="source-part" data-drawn={drawn} style={drawn ? undefined : { height: `${LINE * lines.length}px` }}>
      {drawn
        ? lines.map(({ line, text }) => (
            <Line
              key={line}
              line={line}
              text={text}
              tokens={tokens.get(line)}
              known={sourceLines.value.get(line)}
              current={line === current}
            />
          ))
        : lines.map(({ text }) => text).join('\n')}
    </div>
  );
}

interface LineProps {
  line: number;
  text: string;
  tokens: readonly Token[] | undefined;
  known: SourceLine | undefined;
  current: boolean;
}

function Line({ line, text, tokens, known, current }: LineProps) {
  const nodes = known?.nodes ?? [];
  const title = known ? `${counted(nodes.length, 'op')} here, ${formatCount(known.through)} in callees` : undefined;
  return (
    <button
      type="button"
      class="source-row"
      tabIndex={known ? 0 : -1}
      title={title}
      data-current={current}
      data-made={nodes.length > 0}
      data-line={line}
      onClick={() => showLine(place.value.file, line)}
    >
      <span class="source-count num" data-health={nodes.length > 0 ? HEALTH_NAMES[worst(nodeHealth.value, nodes)] : ''}>
        {nodes.length > 0 ? formatCount(nodes.length) : ''}
      </span>
      <span class="source-number">{line}</span>
      <span class="source-code">
        <Code text={text} tokens={tokens} />
      </span>
    </button>
  );
}
