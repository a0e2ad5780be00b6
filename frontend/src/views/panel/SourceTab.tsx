import { computed, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { pythonTokens } from '../../lib/text/python_tokens';
import type { StackFrame } from '../../model/wire/answers';
import { node } from '../../state/graph/node';
import { showLine } from '../../state/graph/source';
import { api } from '../../state/provider';
import { resource } from '../../state/resource';
import { runId } from '../../state/runs';
import { CopyButton } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { Prose } from '../kit/Prose';
import { Code } from '../source/SourceText';

/** The expanded frame of the stack; the innermost until another one is chosen. */
const chosenFrame = signal<{ node: string; frame: number } | null>(null);

const frame = computed<StackFrame | null>(() => {
  const detail = node.data.value;
  const stack = detail?.stack ?? [];
  const chosen = chosenFrame.value;
  const at = chosen !== null && chosen.node === detail?.name ? chosen.frame : stack.length - 1;
  return stack[at] ?? null;
});

const file = computed(() => frame.value?.file ?? null);

const source = resource(
  computed(() => {
    const run = runId.value;
    return run === null || file.value === null
      ? null
      : { key: `${run} ${file.value}`, subject: `${run} ${file.value}`, run, file: file.value };
  }),
  (wanted, abort) => api().source(wanted.run, wanted.file, abort),
);

/** Where the node was created in the user's program: the stack, and the surrounding text if the dump embeds it. */
export function SourceTab() {
  const detail = node.data.value;
  if (detail === null) return null;
  if (detail.stack.length === 0) {
    return (
      <Message title="No source line">
        <p>No source location (typical for gradient and imported nodes).</p>
      </Message>
    );
  }
  return (
    <div class="tab-body fill">
      <ol class="stack">
        {detail.stack.map((candidate, i) => (
          <Frame key={`${candidate.file}:${candidate.line}`} frame={candidate} node={detail.name} index={i} />
        ))}
      </ol>
      <SourceText />
    </div>
  );
}

function Frame({ frame: candidate, node: name, index }: { frame: StackFrame; node: string; index: number }) {
  const row = useRef<HTMLLIElement>(null);
  const current = frame.value === candidate;
  useEffect(() => {
    if (current) centre(row.current);
  }, [current]);
  const place = `${candidate.file}:${candidate.line}`;
  return (
    <li class="stack-frame" ref={row} data-selected={current}>
      <button
        type="button"
        class="grow"
        onClick={() => {
          chosenFrame.value = { node: name, frame: index };
        }}
      >
        <span class="truncate">
          <b class="mono">
            <Prose text={candidate.file} />:{candidate.line}
          </b>{' '}
          <span class="faint">in {candidate.function}</span>
        </span>
        {candidate.text && <code class="truncate">{candidate.text.trim()}</code>}
      </button>
      <button
        type="button"
        class="button quiet small"
        aria-label={`Nodes of the line ${place}`}
        onClick={() => showLine(candidate.file, candidate.line)}
      >
        Nodes of the line
      </button>
      <CopyButton text={place} label={`Copy file and line, ${place}`} />
    </li>
  );
}

function SourceText() {
  const current = frame.value;
  const text = source.data.value;
  const marked = useRef<HTMLDivElement>(null);
  const tokens = useMemo(() => (text === null ? [] : pythonTokens(text.split(/\r?\n/))), [text]);
  useEffect(() => centre(marked.current), [text, current]);
  if (current === null) return null;
  if (text === null) {
    return source.error.value ? (
      <Message title="The dump does not embed this file">
        <p>{source.error.value.message} The line itself is shown above, if it was recorded.</p>
      </Message>
    ) : null;
  }
  return (
    <section class="source mono" aria-label="Source" tabIndex={0} data-testid="source">
      {text.split(/\r?\n/).map((line, i) => (
        <div key={i} class="source-line" ref={i + 1 === current.line ? marked : null} data-current={i + 1 === current.line}>
          <span class="source-number">{i + 1}</span>
          <span class="source-wrapped">
            <Code text={line} tokens={tokens[i]} />
          </span>
        </div>
      ))}
    </section>
  );
}

/** Scrolls only the text; `scrollIntoView` would also move the page's panes. */
function centre(line: HTMLElement | null): void {
  const text = line?.parentElement;
  if (line && text) text.scrollTop = line.offsetTop - text.clientHeight / 2;
}
