import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { downloadBlob, fileName } from '../../lib/download';
import { formatCount } from '../../lib/text/format';
import { PICTURE_SCALES, type PictureScale, type PictureSettings } from '../../model/run/view_settings';
import type { PicturePlan } from '../../render/picture/picture_size';
import { pictureSettings } from '../../state/page/preferences';
import { Segmented, Switch } from '../kit/Button';
import { Popover } from '../kit/Popover';
import type { GraphView } from './canvas/graph_view';
import { Picture } from './canvas/picture_export';
import { ToolButton } from './ToolButton';

interface PictureMenuProps {
  model: GraphView;
  /** Run, graph and step of the graph. */
  subject: readonly string[];
}

/** Saves the graph as SVG or PNG. */
export function PictureMenu({ model, subject }: PictureMenuProps) {
  const job = useJob(model, subject);
  return (
    // The toolbar's arrow keys do not apply to the menu.
    <div onKeyDown={(event) => (event.target as Element).closest('.popover') && event.stopPropagation()}>
      <Popover
        label="Export image"
        end
        className="picture-popover"
        trigger={(open, toggle) => (
          <ToolButton icon="picture" label="Export image" opens={open} disabled={model.status.value.kind !== 'ready'} onClick={toggle} />
        )}
      >
        {() => <Choices model={model} subject={subject} job={job} />}
      </Popover>
      {/* Here, because the menu may be closed before the file is made. */}
      <div class="offscreen" role="status">
        {job.message}
      </div>
    </div>
  );
}

interface Job {
  readonly busy: boolean;
  /** Progress of the file. */
  readonly share: Signal<number>;
  readonly error: string;
  /** Progress for screen readers. */
  readonly message: string;
  start(picture: Picture, settings: PictureSettings): Promise<void>;
  cancel(): void;
}

function useJob(model: GraphView, subject: readonly string[]): Job {
  const [busy, setBusy] = useState(false);
  const share = useSignal(0);
  const [error, setError] = useState('');
  const [message, setMessage] = useState('');
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), [model]);
  return {
    busy,
    share,
    error,
    message,
    start: async (picture, { what, format }) => {
      abort.current = new AbortController();
      const { signal } = abort.current;
      setError('');
      setBusy(true);
      setMessage('Drawing the image…');
      share.value = 0;
      const progress = (done: number) => {
        share.value = done;
      };
      try {
        // Different pictures of one graph get different file names.
        const colours = model.colouring.peek()?.legend.title ?? '';
        const name = `${fileName(...subject, what === 'whole' ? 'whole graph' : 'on show', colours)}.${format}`;
        downloadBlob(name, await picture.file(progress, signal));
        setMessage(`Saved ${name}.`);
      } catch (failure) {
        setMessage(signal.aborted ? 'Export cancelled.' : '');
        if (!signal.aborted) setError(String(failure instanceof Error ? failure.message : failure));
      }
      setBusy(false);
    },
    cancel: () => abort.current.abort(),
  };
}

const WHATS = [
  { value: 'shown', label: 'Current view' },
  { value: 'whole', label: 'Whole graph' },
] as const;

const FORMATS = [
  { value: 'svg', label: 'SVG' },
  { value: 'png', label: 'PNG' },
] as const;

const SCALES = PICTURE_SCALES.map((scale) => ({ value: String(scale), label: `${scale}×` }));

function Choices({ model, subject, job }: PictureMenuProps & { job: Job }) {
  const save = useRef<HTMLButtonElement>(null);
  const settings = pictureSettings.value;
  const choose = (part: Partial<PictureSettings>) => {
    pictureSettings.value = { ...settings, ...part };
  };
  const { drawing } = model;
  const colouring = model.colouring.value;
  if (!drawing || !colouring) return null;
  // Planned on demand: the view may move while the menu is open.
  const picture = () => new Picture(model, drawing, settings, [...subject, `colours: ${colouring.legend.title}`].join(' · '));
  return (
    <div class="picture-menu">
      <Segmented label="What" options={WHATS} value={settings.what} onChange={(what) => choose({ what })} />
      <div class="row">
        <Segmented label="Format" options={FORMATS} value={settings.format} onChange={(format) => choose({ format })} />
        {settings.format === 'png' && (
          <Segmented
            label="Size"
            options={SCALES}
            value={String(settings.scale)}
            onChange={(scale) => choose({ scale: Number(scale) as PictureScale })}
          />
        )}
      </div>
      <div class="row">
        <Switch label="Legend" on={settings.legend} onChange={() => choose({ legend: !settings.legend })} />
        <Switch label="Caption" on={settings.caption} onChange={() => choose({ caption: !settings.caption })} />
      </div>
      <p class="faint num" data-testid="picture-size">
        {sizeText(picture().plan, settings)}
      </p>
      {job.error !== '' && <p role="alert">{job.error}</p>}
      {/* It keeps the focus while it works: a disabled button would lose it, and Escape with it. */}
      <button
        ref={save}
        type="button"
        class="button primary"
        data-testid="save-picture"
        aria-disabled={job.busy}
        onClick={() => job.busy || void job.start(picture(), settings)}
      >
        Export image
      </button>
      {job.busy && <Progress job={job} onGone={() => save.current?.focus()} />}
    </div>
  );
}

/** A separate component, because it changes often. `onGone`: called if it unmounts with the focus. */
function Progress({ job, onGone }: { job: Job; onGone: () => void }) {
  const row = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = row.current;
    return () => element?.contains(document.activeElement) && onGone();
  }, []);
  return (
    <div class="row" ref={row}>
      <progress max={1} value={job.share.value} aria-label="Picture drawn" />
      <button type="button" class="button" onClick={job.cancel}>
        Cancel
      </button>
    </div>
  );
}

function sizeText({ width, height, tooLarge, scale }: PicturePlan, { format }: PictureSettings): string {
  const size = `${formatCount(width)} × ${formatCount(height)}`;
  if (format === 'svg') return `${size}, vector, text selectable`;
  if (tooLarge === null) return `${size} pixels`;
  const wanted = `${formatCount(tooLarge.width)} × ${formatCount(tooLarge.height)}`;
  return `${wanted} pixels exceed the canvas limit. Saved at ${Number(scale.toPrecision(2))}×: ${size} pixels. SVG has no limit.`;
}
