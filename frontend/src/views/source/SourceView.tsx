import { formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { runDetail } from '../../state/runs';
import { askedFiles, place, showLine, sourceFiles, sourceMap } from '../../state/source';
import { Select } from '../kit/Button';
import { Failure, Message } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { LineNodes } from './LineNodes';
import { SourceText } from './SourceText';

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
        <SourceText />
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
