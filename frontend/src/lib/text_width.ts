/** Width of text in a common sans-serif face, by a table: workers have no fonts, and the same graph should get the same layout everywhere. */

// Advance widths of ASCII 32…126, in hundredths of the font size (Helvetica's, rounded; the page's face is a little wider).
const ADVANCES = [
  28, 28, 36, 56, 56, 89, 67, 19, 33, 33, 39, 58, 28, 33, 28, 28, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 28, 28, 58, 58, 58, 56, 102, 67,
  67, 72, 72, 67, 61, 78, 72, 28, 50, 67, 56, 83, 72, 78, 67, 78, 72, 67, 61, 72, 67, 94, 67, 67, 61, 28, 28, 28, 47, 56, 33, 56, 56, 50,
  56, 56, 28, 56, 56, 22, 22, 50, 22, 83, 56, 56, 56, 56, 33, 50, 28, 56, 50, 72, 50, 50, 50, 33, 26, 33, 58,
];
const OTHER = 60;
const WIDER = 1.09;

export function textWidth(text: string, size: number): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += ADVANCES[text.charCodeAt(i) - 32] ?? OTHER;
  return (sum * size * WIDER) / 100;
}
