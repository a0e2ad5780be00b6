/** A story: recorded answers of the HTTP API for one run (server/story.py), inside an HTML file or a .tap.zip. */

import { fromBase64, gunzip, gzip, toBase64 } from '../../lib/arrays/bytes';
import type { Bookmark } from '../../model/run/bookmarks';
import type { Query } from '../provider';

const STORY_FORMAT = 'tensortap-story';
const STORY_VERSION = 1;
/** Path of the story in a .tap.zip. */
export const VIEWER_PART = 'viewer/story.json.gz';
/** Maximum unpacked size in bytes. */
const MOST_BYTES = 2 ** 30;

export type NamedQuery = Readonly<Record<string, string>>;

export interface RecordedAnswer {
  readonly path: string;
  readonly query: NamedQuery;
  /** JSON, or else `data`: bytes as base64. */
  readonly json?: unknown;
  readonly data?: string;
}

export interface StoryFile {
  readonly format: string;
  readonly version: number;
  readonly written_by: string;
  /** Id and name of the run. */
  readonly run: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly made: number;
  /** The view to open: `#run=…`. */
  readonly link: string;
  readonly notes: readonly Bookmark[];
  /** Sentences. */
  readonly left_out: readonly string[];
  readonly answers: readonly RecordedAnswer[];
}

/** The file is not a story of this version. */
export class StoryFileError extends Error {
  override name = 'StoryFileError';
}

export async function unpackStory(bytes: Uint8Array<ArrayBuffer>): Promise<StoryFile> {
  let story: StoryFile;
  try {
    story = JSON.parse(new TextDecoder().decode(await gunzip(bytes, MOST_BYTES)));
  } catch (cause) {
    throw new StoryFileError('The story is damaged: it cannot be unpacked. Get the file again.', { cause });
  }
  if (story?.format !== STORY_FORMAT || !Array.isArray(story.answers)) throw new StoryFileError('This is not a tensortap story.');
  if (story.version !== STORY_VERSION)
    throw new StoryFileError(
      `This story has version ${story.version}; this viewer reads ${STORY_VERSION}. Open it with the newest viewer.`,
    );
  return story;
}

export function packStory(story: StoryFile): Promise<Uint8Array<ArrayBuffer>> {
  return gzip(new TextEncoder().encode(JSON.stringify(story)));
}

const OPENING = '<script type="application/octet-stream" id="tensortap-story">';

/** The viewer's HTML with a story in it. The story is base64, which cannot contain tags. */
export async function storyPage(viewer: string, story: StoryFile): Promise<string> {
  const [before, after, ...more] = viewer.split(`${OPENING}</script>`);
  if (after === undefined || more.length > 0) throw new StoryFileError('The static viewer is outdated. Build the page again.');
  return `${before}${OPENING}${toBase64(await packStory(story))}</script>${after}`;
}

/** The story in the HTML of another page. */
export async function storyOfPage(html: string): Promise<StoryFile> {
  const story = await embeddedStory(/id="tensortap-story">([\w+/=]+)</.exec(html)?.[1] ?? ''); // not the viewer's code, which names the element
  if (story === null) throw new StoryFileError('This HTML file is not a story. Create one with "tensortap story RUN --out story.html".');
  return story;
}

/** The story in this document; null if there is none. */
export async function embeddedStory(text: string): Promise<StoryFile | null> {
  const data = text.trim();
  return data === '' ? null : unpackStory(fromBase64(data));
}

/** Parameters that may differ from the recorded ones without loss, with the maximum number of rows. */
const FREE = new Set(['limit', 'places', 'bins', 'all']);

/** A query as the recorder writes it: texts, without empty ones. */
export function namedQuery(query: Query): NamedQuery {
  const set = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  return Object.fromEntries(set.map(([key, value]) => [key, value === true ? '1' : String(value)]));
}

/** Whether a recorded answer's query is the requested one. */
export function sameQuery(a: NamedQuery, b: NamedQuery): boolean {
  const [left, right] = [significant(a), significant(b)];
  return left.length === right.length && left.every(([key, value]) => b[key] === value);
}

const significant = (query: NamedQuery) => Object.entries(query).filter(([key]) => !FREE.has(key));
