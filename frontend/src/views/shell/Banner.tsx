import { connectionError } from '../../state/live';
import { runList } from '../../state/runs';
import { Icon } from '../kit/Icon';

/** Says that the server is gone while the last data stays on show. */
export function Banner() {
  const error = connectionError.value;
  if (!error || !runList.value) return <div />;
  return (
    <div class="banner" role="status" data-testid="banner">
      <Icon name="warning" />
      <b>{error.message}</b>
      <span>{error.hint} What you see is the last data that arrived.</span>
    </div>
  );
}
