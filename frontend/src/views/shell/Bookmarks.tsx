import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../../lib/host_page';
import { type Bookmark, bookmarksText, placeText } from '../../model/run/bookmarks';
import {
  bookmarkedHere,
  bookmarks,
  changeBookmark,
  goToBookmark,
  removeBookmark,
  removedBookmark,
  toggleBookmark,
  undoRemoval,
} from '../../state/page/bookmarks';
import { runEntry } from '../../state/runs';
import { IconButton } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Icon } from '../kit/Icon';
import { CutPath } from '../kit/LongName';
import { Popover } from '../kit/Popover';

/** Button with the list of the run's bookmarks. */
export function Bookmarks() {
  if (runEntry.value === null) return null;
  return (
    <Popover
      label="Bookmarks"
      end
      className="bookmarks-popover"
      trigger={(open, toggle) => <IconButton icon="star" label="Bookmarks (A)" pressed={open} onClick={toggle} testid="bookmarks" />}
    >
      {(close) => <List close={close} />}
    </Popover>
  );
}

function List({ close }: { close: () => void }) {
  const all = bookmarks.value;
  return (
    <>
      <div class="row bookmarks-head">
        <button type="button" class="button" onClick={toggleBookmark}>
          <Icon name="star" />
          {bookmarkedHere.value ? 'Remove bookmark' : 'Bookmark this view'} <kbd>a</kbd>
        </button>
        <span class="grow" />
        {all.length > 0 && <CopyButton text={() => bookmarksText(all, addressOf)} label="Copy all links" icon="link" />}
      </div>
      {all.length === 0 && (
        <p class="bookmarks-none faint">
          No bookmarks yet. A bookmark saves the current view (node, step, filters) in this browser. Press A to add one.
        </p>
      )}
      <ul class="bookmarks-list">
        {all.map((bookmark) => (
          <Row key={bookmark.link + bookmark.place} bookmark={bookmark} close={close} />
        ))}
      </ul>
      {removedBookmark.value && (
        <div class="row bookmarks-undo" role="status">
          <span class="grow truncate">Removed {removedBookmark.value.name}</span>
          <button type="button" class="button" onClick={undoRemoval}>
            Undo
          </button>
        </div>
      )}
    </>
  );
}

function Row({ bookmark, close }: { bookmark: Bookmark; close: () => void }) {
  const [editing, setEditing] = useState(false);
  const { name, note, place, step } = bookmark;
  const scope = placeText(bookmark);
  const go = () => {
    close();
    goToBookmark(bookmark);
  };
  return (
    <li class="bookmark" data-testid="bookmark-row">
      <div class="row">
        <button type="button" class="bookmark-go grow" title={place || undefined} onClick={go}>
          <span class="truncate">{name}</span>
          {step !== null && <span class="num faint">step {step}</span>}
          {scope && <CutPath path={scope} class="bookmark-scope" />}
        </button>
        <CopyButton text={() => addressOf(bookmark.link)} label={`Copy the link of ${name}`} icon="link" />
        <IconButton small icon="edit" label={`Name and note of ${name}`} pressed={editing} onClick={() => setEditing(!editing)} />
        <IconButton small icon="close" label={`Remove ${name}`} onClick={() => removeBookmark(bookmark)} />
      </div>
      {editing ? <Fields bookmark={bookmark} done={() => setEditing(false)} /> : note !== '' && <p class="bookmark-note">{note}</p>}
    </li>
  );
}

function Fields({ bookmark, done }: { bookmark: Bookmark; done: () => void }) {
  const name = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => name.current?.focus(), []);
  const save = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const text = (field: string) => String(new FormData(event.currentTarget).get(field) ?? '').trim();
    changeBookmark(bookmark, { name: text('name') || bookmark.name, note: text('note') });
    event.currentTarget.closest('li')?.querySelector<HTMLElement>('.bookmark-go')?.focus();
    done();
  };
  return (
    <form class="bookmark-fields" onSubmit={save}>
      <input ref={name} class="field" name="name" aria-label="Name" placeholder="Name" defaultValue={bookmark.name} autocomplete="off" />
      <input class="field" name="note" aria-label="Note" placeholder="Note" defaultValue={bookmark.note} autocomplete="off" />
      <button type="submit" class="button primary">
        Keep
      </button>
    </form>
  );
}
