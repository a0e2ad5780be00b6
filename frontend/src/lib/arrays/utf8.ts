import { formatCount } from '../text/format';

/** Maximum displayed length of a text, in bytes or characters: a table cell shows far less, a tooltip hardly more. */
export const MOST_SHOWN = 4096;

const ESCAPED = 4;
const HEX = new TextEncoder().encode('0123456789abcdef');
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });
const scratch = new Uint8Array(ESCAPED * MOST_SHOWN);

/**
 * Bytes as UTF-8; invalid ones as `\\xff`, like Python's `backslashreplace` and the CSV. Texts longer than `MOST_SHOWN` are cut at a
 * character and end in their length: `… (100,000 bytes)`. One pass without exceptions (a fatal TextDecoder takes microseconds per error):
 * invalid bytes are escaped first, then everything is decoded at once.
 */
export function decodeBytes(bytes: Uint8Array): string {
  const end = shownLength(bytes);
  let length = 0;
  for (let at = 0; at < end; ) {
    const width = characterWidth(bytes, at, end);
    if (width === 0) length = escapeByte(bytes[at] as number, length);
    for (let k = 0; k < width; k++) scratch[length++] = bytes[at + k] as number;
    at += width || 1;
  }
  const text = DECODER.decode(scratch.subarray(0, length));
  return end < bytes.length ? text + lengthMark(bytes.length, 'bytes') : text;
}

/** A too long text, cut like bytes: `… (100,000 characters)`. */
export function shortened(text: string): string {
  if (text.length <= MOST_SHOWN) return text;
  const last = text.charCodeAt(MOST_SHOWN - 1);
  const cutsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, MOST_SHOWN - (cutsPair ? 1 : 0)) + lengthMark(text.length, 'characters');
}

function lengthMark(length: number, unit: string): string {
  return `… (${formatCount(length)} ${unit})`;
}

/** At most `MOST_SHOWN`, less if that would cut a character. */
function shownLength(bytes: Uint8Array): number {
  if (bytes.length <= MOST_SHOWN) return bytes.length;
  for (let end = MOST_SHOWN; end > MOST_SHOWN - 4; end--) {
    if (!isContinuation(bytes[end] as number)) return end;
  }
  return MOST_SHOWN;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}

/** Bytes of the well-formed character at a position, 0 if there is none (The Unicode Standard, table 3-7). */
function characterWidth(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at] as number;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const width = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + width > end) return 0;
  const second = bytes[at + 1] as number;
  if (second < lowestSecond(lead) || second > highestSecond(lead)) return 0;
  for (let k = 2; k < width; k++) {
    if (!isContinuation(bytes[at + k] as number)) return 0;
  }
  return width;
}

/** Smaller values are overlong forms. */
function lowestSecond(lead: number): number {
  return lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
}

/** Larger values are surrogates or exceed U+10FFFF. */
function highestSecond(lead: number): number {
  return lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
}

function escapeByte(byte: number, at: number): number {
  scratch[at] = 0x5c;
  scratch[at + 1] = 0x78;
  scratch[at + 2] = HEX[byte >> 4] as number;
  scratch[at + 3] = HEX[byte & 15] as number;
  return at + ESCAPED;
}
