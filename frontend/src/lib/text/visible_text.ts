/**
 * Text from untrusted sources, made safe to read: invisible and bidirectional characters escaped, right-to-left words isolated, overlong
 * words shortened.
 */

/** Characters that are invisible or change the text direction: with them a name could look like another one. */
const UNSEEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gu;

const DRAWN_SYMBOL = /^[^\p{ASCII}\p{Default_Ignorable_Code_Point}\u2800\P{S}]|^[\u203c\u2049\u3030\u303d]/u; // may be part of an emoji
const STYLE = /^[\ufe0e\ufe0f]/;
const KEYCAP = /^\u20e3/;
const VIRAMA = /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]/;
const ARABIC = /^[\p{Script=Arabic}\p{Script=Syriac}]/u;

/** The text with such characters escaped, `\u202e`, always as a single line. As `escaped` in tensortap/core/text.py. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character, place: number) => {
    if (changesOthers(character, before(text, place), text.slice(place + character.length))) return character;
    const digits = (character.codePointAt(0) ?? 0).toString(16);
    return digits.length > 4 ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`;
  });
}

/** Whether an invisible character shapes its neighbours: in emoji, and in Persian and Indic scripts (RFC 5892, A.1 and A.2). */
function changesOthers(character: string, left: string, right: string): boolean {
  if (STYLE.test(character)) return KEYCAP.test(right) || DRAWN_SYMBOL.test(left);
  const joins = character === '\u200d';
  if (joins && DRAWN_SYMBOL.test(right) && (DRAWN_SYMBOL.test(left) || STYLE.test(left))) return true;
  if ((joins || character === '\u200c') && VIRAMA.test(left)) return /^\p{L}/u.test(right);
  return character === '\u200c' && ARABIC.test(left) && ARABIC.test(right);
}

/** The character that ends at a position; empty at the start. */
function before(text: string, place: number): string {
  return Array.from(text.slice(Math.max(0, place - 2), place)).at(-1) ?? '';
}

const RIGHT_TO_LEFT = '\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Thaana}\\p{Script=Nko}\\p{Script=Adlam}';
const WORD = `[${RIGHT_TO_LEFT}][${RIGHT_TO_LEFT}\\p{M}\\u200c]*`;
const WORDS = new RegExp(`(${WORD}(?:\\s+${WORD})*)`, 'u');

/** Splits a text; every second part is right-to-left words, which would otherwise reorder signs and digits around them. */
export function splitDirections(text: string): string[] {
  return text.split(WORDS);
}

/** A word that is too long to read: its ends are shown, its middle is hidden. */
export interface CutWord {
  readonly start: string;
  readonly middle: string;
  readonly end: string;
}

/** Names of real programs are not shortened. */
const MOST = 96;
const END = 40;

const LONG = new RegExp(`(\\S{${MOST + 1},})`, 'u');

/** Splits a text so that overlong words are separate; nothing is lost. */
export function cutLongWords(text: string): (string | CutWord)[] {
  return text
    .split(LONG)
    .map((part, i) => (i % 2 === 1 ? cut([...part]) : part))
    .filter((part) => part !== '');
}

function cut(letters: readonly string[]): CutWord {
  const [start, middle, end] = [letters.slice(0, END), letters.slice(END, -END), letters.slice(-END)].map((part) => part.join(''));
  return { start: start!, middle: middle!, end: end! };
}
