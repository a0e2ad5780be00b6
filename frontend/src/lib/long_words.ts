/** A word that is too long to be read: its ends are shown, what is between them is not. */
export interface CutWord {
  readonly start: string;
  readonly middle: string;
  readonly end: string;
}

/** Names of real programs stay whole. */
const MOST = 96;
const END = 40;

const LONG = new RegExp(`(\\S{${MOST + 1},})`, 'u');

/** A text in order, its overlong words apart; nothing of it is lost. */
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
