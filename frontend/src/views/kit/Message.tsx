import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../api/provider';
import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { hintPieces } from '../../model/run/sentence_links';
import type { Progress } from '../../model/wire/findings';
import { goToProposed } from '../../state/selection';
import { IconButton } from './Button';

interface MessageProps {
  title: string;
  children?: ComponentChildren;
  testid?: string;
}

/** Message of an empty pane: the reason, and what to do next. */
export function Message({ title, children, testid }: MessageProps) {
  return (
    <div class="message" data-testid={testid}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface NoticeProps {
  children: ComponentChildren;
  role: 'status' | 'alert';
  testid: string;
  onDismiss: () => void;
}

/** A line above the page, until dismissed. */
export function Notice({ children, role, testid, onDismiss }: NoticeProps) {
  return (
    <div class="reading" role={role} data-testid={testid}>
      <span>{children}</span>
      <span class="grow" />
      <IconButton small icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}

export function Failure({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <Message title={error.message} testid="error-state">
      {error instanceof ApiError && error.hint && <Hint text={error.hint} />}
      <div class="actions">
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      </div>
    </Message>
  );
}

/** The server's hint; names that it suggests are links. */
function Hint({ text }: { text: string }) {
  return (
    <p>
      {hintPieces(text).map((piece, i) =>
        piece.name ? (
          <button key={i} type="button" class="proposed-name" onClick={() => goToProposed(piece.text)}>
            {piece.text}
          </button>
        ) : (
          piece.text
        ),
      )}
    </p>
  );
}

/** Seconds since it appeared. */
export function Elapsed() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - began) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span class="num">{seconds} s</span>;
}

/** Progress of an analysis; nothing once it is finished. */
export function AnalysisProgress({ what, progress }: { what: string; progress: Progress | null }) {
  if (progress === null) return null;
  const { done, total, doing } = progress;
  return (
    <div class="working" role="status" data-testid="working">
      <span>
        {what}
        {doing && ` (${doing})`}…
      </span>
      <progress aria-label={what} {...(total > 0 && { value: done, max: total })} />
    </div>
  );
}

const DAMAGE_LISTED = 3;

/** Data that could not be read, and are missing below; nothing if all was read. */
export function Damage({ sentences = [] }: { sentences?: readonly string[] | undefined }) {
  if (sentences.length === 0) return null;
  const more = sentences.length - DAMAGE_LISTED;
  return (
    <div class="damage" role="alert" data-testid="damage">
      <p>Some data are damaged and not shown:</p>
      <ul>
        {sentences.slice(0, DAMAGE_LISTED).map((sentence) => (
          <li key={sentence}>{visible(sentence)}</li>
        ))}
        {more > 0 && <li>{formatCount(more)} more</li>}
      </ul>
      <p class="faint">
        <code>tensortap check</code> lists all damage; <code>check --repair</code> copies the readable part.
      </p>
    </div>
  );
}
