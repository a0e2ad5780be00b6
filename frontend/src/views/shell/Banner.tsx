import { counted } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { connectionError, firstUnread, hideUnread, unreadCount } from '../../state/live';
import { runList } from '../../state/runs';
import { Icon } from '../kit/Icon';

/** Says that folders cannot be looked into, or that the server is gone while the last data stays on show. */
export function Banner() {
  const error = connectionError.value;
  if (!runList.value) return <div />;
  if (!error) return <NotLookedInto />;
  return (
    <div class="banner" role="status" data-testid="banner">
      <Icon name="warning" />
      <b>{error.message}</b>
      <span>{error.hint} What you see is the last data that arrived.</span>
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
        {visible(first.folder)} cannot be looked into{others > 0 && `, nor can ${counted(others, 'other folder')}`}: {first.reason}
      </b>
      <span>Runs in it are not listed. {first.hint}.</span>
      <button type="button" class="button" onClick={hideUnread}>
        Hide
      </button>
    </div>
  );
}
