/** The signs that open (plus) and close (minus) scopes. */

import type { Frame } from './frame';

export interface Sign {
  /** Its middle. */
  readonly x: number;
  readonly y: number;
  /** 1 for a sign of 15 pixels. */
  readonly size: number;
}

/** Draws signs of one colour; `ground` fills them, so that no edge runs through, null leaves them clear. */
export function drawSigns({ context }: Frame, signs: readonly Sign[], ground: string | null, colour: string, plus: boolean): void {
  if (signs.length === 0) return;
  context.beginPath();
  for (const { x, y, size } of signs) {
    const arm = 3.6 * size;
    context.roundRect(x - 7.5 * size, y - 7.5 * size, 15 * size, 15 * size, 4 * size);
    context.moveTo(x - arm, y);
    context.lineTo(x + arm, y);
    if (!plus) continue;
    context.moveTo(x, y - arm);
    context.lineTo(x, y + arm);
  }
  if (ground !== null) {
    context.fillStyle = ground;
    context.fill();
  }
  context.strokeStyle = colour;
  context.lineWidth = Math.max(0.8, 1.2 * (signs[0]?.size ?? 1));
  context.stroke();
}
