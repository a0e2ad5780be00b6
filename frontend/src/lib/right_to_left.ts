const RIGHT_TO_LEFT = '\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Thaana}\\p{Script=Nko}\\p{Script=Adlam}';
const WORD = `[${RIGHT_TO_LEFT}][${RIGHT_TO_LEFT}\\p{M}\\u200c]*`;
const WORDS = new RegExp(`(${WORD}(?:\\s+${WORD})*)`, 'u');

/** A text in order; every second part is words of a script that runs from right to left. Left to themselves, they would turn signs and digits around them. */
export function splitDirections(text: string): string[] {
  return text.split(WORDS);
}
