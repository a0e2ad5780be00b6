import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { visible } from '../../lib/text/visible_text';
import { shownStory } from '../../state/story';
import { IconButton } from '../kit/Button';
import { Icon } from '../kit/Icon';
import { Message, Notice } from '../kit/Message';

/** Says that the page shows a story, its date, and the missing data. */
export function StoryBanner() {
  const [hidden, setHidden] = useState<unknown>(null);
  const story = shownStory.value;
  if (story === null || hidden === story) return <div />;
  const made = new Date(1000 * story.made).toISOString().slice(0, 10);
  return (
    <aside class="story-banner" aria-label="Story" data-testid="story-banner">
      <Icon name="info" />
      <span>
        A story of <b>{visible(story.name)}</b>, recorded on {made}. No server is needed.
      </span>
      {story.left_out.length > 0 && (
        <details>
          <summary>Not included</summary>
          <ul>
            {story.left_out.map((sentence) => (
              <li key={sentence}>{visible(sentence)}</li>
            ))}
          </ul>
        </details>
      )}
      <span class="grow" />
      <IconButton small icon="close" label="Hide this note" onClick={() => setHidden(story)} />
    </aside>
  );
}

/** Name of the file that was dropped on a page with a server, which cannot open it. */
const dropped = signal<string | null>(null);

/** Says how to open a dropped file; the static viewer, which has no server, opens it itself (viewer.tsx). */
export function DroppedFile() {
  useEffect(() => {
    const onDrag = (event: DragEvent) => {
      if (shownStory.peek() !== null || !event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault(); // else the browser leaves the page for the file
      if (event.type === 'drop') dropped.value = event.dataTransfer.files[0]?.name ?? null;
    };
    for (const type of ['dragover', 'drop'] as const) document.addEventListener(type, onDrag);
    return () => {
      for (const type of ['dragover', 'drop'] as const) document.removeEventListener(type, onDrag);
    };
  }, []);
  if (dropped.value === null) return <div />;
  return (
    <Notice
      role="alert"
      testid="dropped"
      onDismiss={() => {
        dropped.value = null;
      }}
    >
      {visible(dropped.value)} was not opened: this page shows the runs of its server. Open it with{' '}
      <code>tensortap serve {visible(dropped.value)}</code>, or save the{' '}
      <a href="viewer.html" download="tensortap-viewer.html">
        static viewer
      </a>
      , open that, and drop the file there.
    </Notice>
  );
}

interface OpenFileProps {
  /** Error of the last file; empty for none. */
  error: string;
  onFile: (file: File) => void;
}

/** The static viewer without a story. */
export function OpenFile({ error, onFile }: OpenFileProps) {
  return (
    <main class="open-file">
      <Message title="Drop a .tap.zip or a story here" testid="open-file">
        <p>
          It stays on this computer. The viewer shows the views stored in it by "tensortap export RUN --viewer --out run.tap.zip" or by the
          page's Share menu.
        </p>
        <input
          type="file"
          accept=".zip,.html"
          aria-label="Choose a .tap.zip or a story"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) onFile(file);
          }}
        />
        {error !== '' && <p role="alert">{error}</p>}
      </Message>
    </main>
  );
}
