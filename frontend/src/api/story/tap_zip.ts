/** The story in a .tap.zip. Only this member is read, not the run, which may be large. */

import { type StoryFile, StoryFileError, unpackStory, VIEWER_PART } from './story_file';

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** Size of the end record with the longest comment. */
const LONGEST_END = 22 + 0xffff;
const MOST_DIRECTORY = 64 * 2 ** 20;

export async function storyOfTapZip(file: Blob): Promise<StoryFile> {
  const member = await findMember(file, VIEWER_PART);
  if (member === null)
    throw new StoryFileError(
      'This .tap.zip has no viewer data. Create it with "tensortap export RUN --viewer --out run.tap.zip", or open it with "tensortap serve run.tap.zip".',
    );
  return unpackStory(member);
}

/** The bytes of a stored member; null if there is none. */
async function findMember(file: Blob, name: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const tail = await view(file, Math.max(0, file.size - LONGEST_END), file.size);
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== END) end--;
  if (end < 0) throw new StoryFileError('This is not a .tap.zip: it has no end record. Was it copied completely?');
  const [length, at] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  if (at === 0xffffffff) throw new StoryFileError('This .tap.zip is larger than 4 GiB. Open it with "tensortap serve".');
  if (length > MOST_DIRECTORY || at + length > file.size) throw new StoryFileError('This .tap.zip is damaged: its directory is truncated.');
  const directory = await view(file, at, at + length);
  const decoder = new TextDecoder();
  for (let entry = 0; entry + 46 <= length; ) {
    if (directory.getUint32(entry, true) !== ENTRY) throw new StoryFileError('This .tap.zip is damaged: its directory cannot be read.');
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => directory.getUint16(entry + offset, true)) as [
      number,
      number,
      number,
    ];
    const found = decoder.decode(new Uint8Array(directory.buffer, entry + 46, Math.min(nameLength, length - entry - 46)));
    if (found === name) {
      const method = directory.getUint16(entry + 10, true);
      return readMember(file, directory.getUint32(entry + 42, true), directory.getUint32(entry + 24, true), method);
    }
    entry += 46 + nameLength + extra + comment;
  }
  return null;
}

async function readMember(file: Blob, at: number, size: number, method: number): Promise<Uint8Array<ArrayBuffer>> {
  const header = await view(file, at, at + 30);
  if (method !== 0 || header.byteLength < 30 || header.getUint32(0, true) !== LOCAL)
    throw new StoryFileError('This .tap.zip is damaged: its viewer data cannot be read.');
  const from = at + 30 + header.getUint16(26, true) + header.getUint16(28, true);
  if (from + size > file.size) throw new StoryFileError('This .tap.zip is truncated. Get the file again.');
  return new Uint8Array(await file.slice(from, from + size).arrayBuffer());
}

async function view(file: Blob, from: number, to: number): Promise<DataView<ArrayBuffer>> {
  return new DataView(await file.slice(from, to).arrayBuffer());
}
