/** Texts in the order in which people count, as the server sorts them: `AddN_2` before `AddN_10`. */

/** Sorted by a text of each; those of one text stay as they are. */
export function sortedNaturally<T>(entries: readonly T[], textOf: (entry: T) => string): T[] {
  const keyed = entries.map((entry) => ({ entry, text: textOf(entry), key: naturalKey(textOf(entry)) }));
  return keyed.sort((a, b) => compared(a.key, b.key) || compared(a.text, b.text)).map(({ entry }) => entry);
}

/** Before each number stands a sign, the later the more digits it has, zeros in front of it aside. */
function naturalKey(text: string): string {
  return text.replace(/0*(\d+)/g, (_, digits: string) => String.fromCharCode(48 + digits.length) + digits);
}

function compared(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
