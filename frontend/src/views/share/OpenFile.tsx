import { Message } from '../kit/Message';

interface OpenFileProps {
  /** What was wrong with the last file; empty for nothing. */
  error: string;
  onFile: (file: File) => void;
}

/** What the static viewer shows while it has nothing to show. */
export function OpenFile({ error, onFile }: OpenFileProps) {
  return (
    <main>
      <Message title="Drop a .tap.zip here" testid="open-file">
        <p>
          It stays on this computer. The viewer shows what “tensortap export RUN --viewer --out run.tap.zip” stored for it, or the page's
          Share menu.
        </p>
        <input
          type="file"
          accept=".zip"
          aria-label="Choose a .tap.zip"
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
