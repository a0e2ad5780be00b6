import { useEffect, useRef } from 'preact/hooks';
import { counted, formatCount } from '../../lib/format';
import { visible } from '../../lib/visible';
import { type SourceLine, worst } from '../../model/source_lines';
import { runDetail } from '../../state/runs';
import { askedFiles, nodeHealth, place, showLine, sourceFiles, sourceLines, sourceMap, sourceText } from '../../state/source';
import { Select } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { LineNodes } from './LineNodes';

export const HEALTH_NAMES = ['', '', 'fine', 'inf', 'nan'] as const; // by the states of node_values.ts

/** The user's program, and beside each line the nodes it made. A click on a line lists them. */
export function SourceView() {
  if (runDetail.value?.graphs.length === 0) return <NothingCaptured />;
  if (sourceMap.error.value) return <Failure error={sourceMap.error.value} retry={sourceMap.reload} />;
  if (sourceMap.data.value === null) return <div class="pane-body" />;
  if (sourceFiles.value.length === 0) {
    return (
      <Message title="The dump does not say which lines made this graph" testid="empty-state">
        <p>Imported graphs have no program. A tap notes the lines of graphs that are traced while it is open.</p>
      </Message>
    );
  }
  if (askedFiles.value !== null && askedFiles.value.length !== 1) return <Which called={place.value.file} files={askedFiles.value} />;
  return (
    <div class="pane-body source-view" data-testid="source-view">
      <div class="source-bar">
        <Select label="File" value={place.value.file} onChange={(file) => showLine(file, null)} testid="source-file">
          {sourceFiles.value.map(({ file, nodes }) => (
            <option key={file} value={file}>
              {visible(file)} ({formatCount(nodes)} nodes)
            </option>
          ))}
        </Select>
      </div>
      <div class="source-columns">
        <Text />
        <LineNodes />
      </div>
    </div>
  );
}

/** A name that an address holds may be that of several files, or of none. */
function Which({ called, files }: { called: string; files: readonly { file: string }[] }) {
  const name = visible(called);
  return (
    <Message
      title={files.length > 0 ? `${formatCount(files.length)} files are called ${name}` : `No file called ${name} made this graph`}
      testid="source-which"
    >
      <p>{files.length > 0 ? 'Choose the one that is meant.' : 'These did:'}</p>
      {(files.length > 0 ? files : sourceFiles.value).map(({ file }) => (
        <p key={file}>
          <button type="button" class="link-name" onClick={() => showLine(file, place.value.line)}>
            {visible(file)}
          </button>
        </p>
      ))}
    </Message>
  );
}

/** The file's lines; where the dump does not embed it, those that made nodes. */
function Text() {
  const text = sourceText.data.value;
  const embedded = sourceFiles.value.find(({ file }) => file === place.value.file)?.embedded;
  const current = useRef<HTMLButtonElement>(null);
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    const shown = pane.current;
    if (shown === null) return;
    // Without a chosen line the first that made nodes is in view, or there would be nothing to choose.
    const line = current.current ?? shown.querySelector<HTMLElement>('[data-made="true"]');
    const hidden = current.current !== null || (line?.offsetTop ?? 0) > 0.8 * shown.clientHeight;
    if (line && hidden) shown.scrollTop = line.offsetTop - shown.clientHeight / 2;
  }, [text, place.value.line, place.value.file]);
  if (sourceText.error.value) return <Failure error={sourceText.error.value} retry={sourceText.reload} />;
  const numbers = text === null ? [...sourceLines.value.keys()].sort((a, b) => a - b) : [];
  const lines =
    text === null ? numbers.map((line) => ({ line, text: '' })) : text.split('\n').map((one, i) => ({ line: i + 1, text: one }));
  return (
    <section class="source-text mono" ref={pane} aria-label="Program" tabIndex={0}>
      {embedded === false && (
        <p class="source-hint">
          The dump does not embed this file, so only the lines that made nodes are listed. <code>Tap(…, sources=True)</code>, the default,
          embeds the program's files at the next run.
        </p>
      )}
      {(text !== null || embedded === false) &&
        lines.map(({ line, text: one }) => (
          <Line key={line} line={line} text={one} known={sourceLines.value.get(line)} mark={line === place.value.line ? current : null} />
        ))}
    </section>
  );
}

interface LineProps {
  line: number;
  text: string;
  known: SourceLine | undefined;
  mark: { current: HTMLButtonElement | null } | null;
}

function Line({ line, text, known, mark }: LineProps) {
  const nodes = known?.nodes ?? [];
  const title = known ? `${counted(nodes.length, 'node')} made here, ${formatCount(known.through)} in calls from here` : undefined;
  return (
    <button
      type="button"
      class="source-row"
      ref={mark}
      tabIndex={known ? 0 : -1}
      title={title}
      data-current={mark !== null}
      data-made={nodes.length > 0}
      data-line={line}
      onClick={() => showLine(place.value.file, line)}
    >
      <span class="source-count num" data-health={HEALTH_NAMES[worst(nodeHealth.value, nodes)]}>
        {nodes.length > 0 ? formatCount(nodes.length) : ''}
      </span>
      <span class="source-number">{line}</span>
      <span class="source-code">{text.replace(/\r$/, '') || ' '}</span>
    </button>
  );
}
