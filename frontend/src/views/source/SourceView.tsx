import { counted, formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { graph } from '../../state/graph/graph';
import { askedFiles, nodeHealth, place, showLine, sourceFiles, sourceLines, sourceMap } from '../../state/graph/source';
import { sourceWrapped } from '../../state/page/preferences';
import { runDetail } from '../../state/runs';
import { selectedNode, selectNode } from '../../state/selection';
import { Select, Switch } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { HEALTH_NAMES, SourceText } from './SourceText';

/** The user's program, with the nodes of each line beside it. A click on a line lists them. */
export function SourceView() {
  if (runDetail.value?.graphs.length === 0) return <NothingCaptured />;
  if (sourceMap.error.value) return <Failure error={sourceMap.error.value} retry={sourceMap.reload} />;
  if (sourceMap.data.value === null) return <div class="pane-body" />;
  if (sourceFiles.value.length === 0) {
    return (
      <Message title="No source locations for this graph" testid="empty-state">
        <p>Imported graphs have no source info.</p>
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
        <span class="grow" />
        <Switch
          label="Wrap lines"
          on={sourceWrapped.value}
          onChange={() => {
            sourceWrapped.value = !sourceWrapped.value;
          }}
          testid="source-wrap"
        />
      </div>
      <div class="source-columns">
        <SourceText />
        <LineNodes />
      </div>
    </div>
  );
}

/** A name in an address may match several files, or none. */
function Which({ called, files }: { called: string; files: readonly { file: string }[] }) {
  const name = visible(called);
  return (
    <Message
      title={files.length > 0 ? `${formatCount(files.length)} files have the name ${name}` : `No file ${name} in this graph`}
      testid="source-which"
    >
      <p>{files.length > 0 ? 'Choose one:' : 'Files with nodes:'}</p>
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

/** More would not be read; the graph's search finds them. */
const MOST = 500;

/** The nodes created by the chosen line, the worst first, else in graph order. */
function LineNodes() {
  const { line } = place.value;
  const known = line === null ? undefined : sourceLines.value.get(line);
  const names = graph.data.value?.names;
  if (!known || !names) return <aside class="source-nodes faint">Click a line with a node count to list its ops.</aside>;
  const healthOf = (row: number) => nodeHealth.value[row] ?? 0;
  const worstFirst = [...known.nodes].sort((a, b) => healthOf(b) - healthOf(a));
  return (
    <aside class="source-nodes" aria-label={`Nodes of line ${line}`}>
      <h2>
        Line {line}: {counted(known.nodes.length, 'node')}
      </h2>
      {known.through > 0 && <p class="faint">{formatCount(known.through)} more in callees.</p>}
      {worstFirst.slice(0, MOST).map((row) => {
        const name = names.at(row);
        return (
          <button
            type="button"
            key={row}
            class="source-node"
            data-selected={name === selectedNode.value}
            data-testid="source-node"
            onClick={() => selectNode(name)}
          >
            <i data-health={HEALTH_NAMES[healthOf(row)]} />
            <span class="truncate" title={visible(name)}>
              {visible(name)}
            </span>
            <span class="faint">{visible(graph.data.value?.opTypes.at(row) ?? '')}</span>
          </button>
        );
      })}
      {known.nodes.length > MOST && <p class="faint">and {formatCount(known.nodes.length - MOST)} more</p>}
    </aside>
  );
}
