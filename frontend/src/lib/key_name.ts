/** Keys as they stand on the keyboard at hand: what is Ctrl elsewhere is Cmd on a Mac. */

/** `Ctrl+K`, or `⌘ K` on a Mac; other names stay as they are. */
export function keyName(name: string, platform = navigator.platform): string {
  return /Mac|iPhone|iPad/.test(platform) ? name.replace(/^Ctrl\+/, '⌘ ') : name;
}
