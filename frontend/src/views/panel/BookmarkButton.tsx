import { bookmarkedHere, toggleBookmark } from '../../state/bookmarks';
import { IconButton } from '../kit/Button';

/** The star of what is on show. */
export function BookmarkButton() {
  const on = bookmarkedHere.value;
  const label = on ? 'Take the bookmark away (a)' : 'Bookmark at this step (a)';
  return <IconButton small icon="star" label={label} pressed={on} onClick={toggleBookmark} testid="bookmark" />;
}
