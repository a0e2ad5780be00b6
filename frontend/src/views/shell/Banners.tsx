import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { connectionError, firstUnread, hiddenReading, hideUnread, percent, reading, unreadCount } from '../../state/live';
import { linkError, linkRequest } from '../../state/page/link_errors';
import { runEntry, runList } from '../../state/runs';
import { Icon } from '../kit/Icon';
import { Notice } from '../kit/Message';

/** Says that folders cannot be read, or that the server is unreachable while the last data stays visible. */
export function Banner() {
  const error = connectionError.value;
  if (!runList.value) return <div />;
  if (!error) return <NotLookedInto />;
  return (
    <div class="banner" role="status" data-testid="banner">
      <Icon name="warning" />
      <b>{error.message}</b>
      <span>{error.hint} The page shows the last data that it received.</span>
    </div>
  );
}

function NotLookedInto() {
  const first = firstUnread.value;
  if (first === null) return <div />;
  const others = unreadCount.value - 1;
  return (
    <div class="banner" role="status" data-testid="unread">
      <Icon name="warning" />
      <b>
        {visible(first.folder)}
        {others > 0 && ` and ${counted(others, 'other folder')}`} cannot be read: {first.reason}
      </b>
      <span>Runs in it are not listed. {first.hint}.</span>
      <button type="button" class="button" onClick={hideUnread}>
        Hide
      </button>
    </div>
  );
}

/** Says that the address requests something that does not exist, until dismissed or left. */
export function LinkErrorBanner() {
  const text = linkError.value;
  if (text === null) return <div />;
  return (
    <Notice
      role="status"
      testid="lost"
      onDismiss={() => {
        linkRequest.value = null;
      }}
    >
      {text}
    </Notice>
  );
}

/** Reading progress of a large run that is opened for the first time; data read so far is shown. */
export function ReadingBar() {
  const far = reading.value;
  const run = runEntry.value;
  if (!far || !run) return <div />;
  const shown = percent(far);
  return (
    <div class="reading" data-testid="reading">
      <span>
        Reading <b>{run.name}</b>: {shown} % of {(far.total / 2 ** 20).toFixed(0)} MiB. Showing what was read so far.
      </span>
      <div
        class="reading-bar"
        role="progressbar"
        aria-label={`Reading ${run.name}`}
        aria-valuenow={shown}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${shown}%` }} />
      </div>
      <button
        type="button"
        class="button"
        onClick={() => {
          hiddenReading.value = run.id;
        }}
      >
        Hide
      </button>
    </div>
  );
}
