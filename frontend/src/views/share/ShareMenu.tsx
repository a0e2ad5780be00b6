import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../api/provider';
import { downloadBlob, fileName } from '../../lib/download';
import { forwardingCommand, isLoopback, shareAddress } from '../../lib/host_page';
import { graph } from '../../state/graph/graph';
import { stepRange } from '../../state/page/choices';
import { pictureSettings } from '../../state/page/preferences';
import { api } from '../../state/provider';
import { runEntry } from '../../state/runs';
import { step } from '../../state/steps';
import { makeStory, shownStory } from '../../state/story';
import { chartImage } from '../charts/Plot';
import { currentGraphView } from '../graph/canvas/navigation';
import { Picture } from '../graph/canvas/picture_export';
import { IconButton } from '../kit/Button';
import { CodeBlock, CopyButton } from '../kit/CopyButton';
import { Icon } from '../kit/Icon';
import { Elapsed } from '../kit/Message';
import { Popover } from '../kit/Popover';
import { layersOnShow } from '../layers/LayersView';

/** Shares the current view: as a link, an image, the run's file, or a page without a server. */
export function ShareMenu() {
  const task = useTask();
  const entry = runEntry.value;
  if (entry === null) return null;
  const { id, name } = entry;
  return (
    <Popover
      label="Share"
      end
      className="share-popover"
      trigger={(open, toggle) => <IconButton icon="share" label="Share" pressed={open} onClick={toggle} testid="share" />}
    >
      {() => (
        <>
          {shownStory.value === null && <LinkPart />}
          <ImagePart task={task} name={name} />
          {shownStory.value === null && (
            <>
              <RunPart task={task} id={id} name={name} />
              <StoryPart task={task} id={id} name={name} />
            </>
          )}
          <p class="faint" role="status" data-testid="share-status">
            {task.status} {task.busy && <Elapsed />}
          </p>
          {task.error !== '' && <p role="alert">{task.error}</p>}
        </>
      )}
    </Popover>
  );
}

function LinkPart() {
  const { hostname, port } = window.location;
  return (
    <section class="share-part" aria-label="Link">
      <div class="row">
        <h2 class="grow">Link to this view</h2>
        <CopyButton text={shareAddress} label="Copy link to this view" icon="link" />
      </div>
      {isLoopback(hostname) && (
        <>
          <p class="faint" data-testid="share-loopback">
            This link only works on this computer. Others must forward the port and need the server's token:
          </p>
          <CodeBlock code={forwardingCommand(port || '80')} label="Copy the ssh command" />
        </>
      )}
    </section>
  );
}

interface PartProps {
  task: Task;
  name: string;
}

function ImagePart({ task, name }: PartProps) {
  const images = savableImages();
  if (images.length === 0) return null;
  const save = (image: ShownImage, format: 'png' | 'svg') =>
    task.run(`Drawing the ${image.what}…`, async () => {
      const file = `${fileName(name, ...image.subject)}.${format}`;
      downloadBlob(file, await image.file(format));
      return `Saved ${file}.`;
    });
  return (
    <section class="share-part" aria-label="Image">
      {images.map((image) => (
        <div class="row" key={image.label}>
          <h2 class="grow truncate">Image of the {image.label}</h2>
          {(['png', 'svg'] as const).map((format) => (
            <SaveButton key={format} task={task} label={format.toUpperCase()} onClick={() => save(image, format)} />
          ))}
        </div>
      ))}
    </section>
  );
}

function RunPart({ task, name, id }: PartProps & { id: string }) {
  const save = (steps: string | null, part: string) =>
    task.run('Packing the run…', async (abort) => {
      const file = `${fileName(name, ...(part === '' ? [] : [part]))}.tap.zip`;
      downloadBlob(file, new Blob([await api().tapZip(id, steps, abort)], { type: 'application/zip' }));
      return `Saved ${file}. Open it: tensortap serve ${file}`;
    });
  const [at, range] = [step.value, stepRange.value];
  return (
    <section class="share-part" aria-label="Run">
      <h2>Run as .tap.zip, with values and source</h2>
      <div class="row">
        <SaveButton task={task} label="Whole run" onClick={() => save(null, '')} />
        {at !== null && <SaveButton task={task} label={`Step ${at}`} onClick={() => save(String(at), `step ${at}`)} />}
        {range !== null && (
          <SaveButton
            task={task}
            label={`Steps ${range.first} to ${range.last}`}
            onClick={() => save(`${range.first}:${range.last + 1}`, `steps ${range.first}-${range.last}`)}
          />
        )}
      </div>
    </section>
  );
}

function StoryPart({ task, name, id }: PartProps & { id: string }) {
  const save = () =>
    task.run('Creating the story (up to a minute)…', async (abort) => {
      const { page, story } = await makeStory(id, abort);
      const file = `${fileName(name, 'story')}.html`;
      downloadBlob(file, page);
      const left = story.left_out.length > 0 ? ` Not included: ${story.left_out.join(' ')}` : '';
      return `Saved ${file} (${(page.size / 1e6).toFixed(1)} MB).${left}`;
    });
  return (
    <section class="share-part" aria-label="Story">
      <h2>Story: one HTML file without a server</h2>
      <p class="faint">
        Contains graph, NaN path, histograms, values, source code, and your bookmarks with notes. Review it before you publish it.
      </p>
      <div class="row">
        <SaveButton task={task} label="Save story" onClick={save} testid="save-story" />
      </div>
    </section>
  );
}

interface SaveProps {
  task: Task;
  label: string;
  onClick: () => void;
  testid?: string;
}

function SaveButton({ task, label, onClick, testid }: SaveProps) {
  // It keeps the focus while it works.
  return (
    <button type="button" class="button" aria-disabled={task.busy} data-testid={testid} onClick={() => task.busy || onClick()}>
      <Icon name="download" />
      {label}
    </button>
  );
}

interface Task {
  readonly busy: boolean;
  readonly status: string;
  readonly error: string;
  /** Runs one task at a time; `work` returns its message. */
  run(doing: string, work: (abort: AbortSignal) => Promise<string>): void;
}

function useTask(): Task {
  const [state, setState] = useState({ busy: false, status: '', error: '' });
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const run = async (doing: string, work: (abort: AbortSignal) => Promise<string>): Promise<void> => {
    setState({ busy: true, status: doing, error: '' });
    try {
      setState({ busy: false, status: await work(abort.current.signal), error: '' });
    } catch (error) {
      setState({ busy: false, status: '', error: wording(error) });
    }
  };
  return { ...state, run: (doing, work) => void run(doing, work) };
}

function wording(error: unknown): string {
  if (error instanceof ApiError) return [error.message, error.hint].filter(Boolean).join(' ');
  return error instanceof Error ? error.message : String(error);
}

interface ShownImage {
  /** Its name in a sentence, and in the menu. */
  readonly what: string;
  readonly label: string;
  /** Suffix of its file name, after the run's name. */
  readonly subject: readonly string[];
  file(format: 'png' | 'svg'): Promise<Blob>;
}

/** Maximum number of listed charts. */
const MOST_CHARTS = 4;

function savableImages(): ShownImage[] {
  const at = step.peek() === null ? [] : [`step ${step.peek()}`];
  const subject = [graph.data.peek()?.name ?? '', ...at].filter(Boolean);
  const [ops, layers] = [currentGraphView.peek(), layersOnShow.peek()];
  const found: ShownImage[] = [];
  if (layers !== null)
    found.push({ what: 'layers', label: 'layers', subject, file: (format) => layers.file(format, subject.join(' \u00b7 ')) });
  else if (ops?.drawing && ops.colouring.peek()) {
    const { drawing } = ops;
    const picture = (format: 'png' | 'svg') =>
      new Picture(ops, drawing, { ...pictureSettings.peek(), what: 'shown', format }, subject.join(' \u00b7 '));
    const file = (format: 'png' | 'svg') => picture(format).file(() => undefined, new AbortController().signal);
    found.push({ what: 'graph', label: 'graph as shown', subject, file });
  }
  const charts = [...document.querySelectorAll<HTMLElement>('figure.plot.js-plotly-plot')].filter(({ clientWidth }) => clientWidth > 0);
  charts.slice(0, MOST_CHARTS).forEach((chart, i) => {
    const name = chart.getAttribute('aria-label') ?? `chart ${i + 1}`;
    found.push({ what: 'chart', label: `chart: ${name}`, subject: [...subject, name], file: (format) => chartImage(chart, format) });
  });
  return found;
}
