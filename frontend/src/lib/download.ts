/** Exports texts and files: downloads, the clipboard, and CSV for spreadsheets. */

/** Downloads a text as a file. */
export function downloadText(name: string, text: string, type: string): void {
  downloadBlob(name, new Blob([text], { type }));
}

export function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name that is valid on every file system. */
export function fileName(...parts: (string | number)[]): string {
  return parts.map((part) => String(part).replace(/[^\w.-]+/g, '_')).join('_');
}

/** Copies text; falls back to a hidden text field where the clipboard API is not allowed (plain http, iframes). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea');
  field.className = 'offscreen';
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  return copied;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * One CSV field: quoted where needed. A leading `= + - @`, full width included, is guarded against spreadsheets that would run it, and
 * control characters are escaped. As `csv_text` in tensortap/core/text.py.
 */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = value.replace(CONTROLS, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const guarded = /^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

export function csvText(header: string[], rows: Iterable<(string | number)[]>): string {
  const lines = [header.map(csvField).join(',')];
  for (const row of rows) lines.push(row.map(csvField).join(','));
  return `${lines.join('\r\n')}\r\n`;
}
