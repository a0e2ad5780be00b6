/** Blocks that nobody named: in a flat model, what lies between two places where all data goes through one layer. */

import type { LayerCard } from './cards';

/** Fewer cards than that are as quickly read as a block; more, or more than a third of the model, are no block. */
const FEWEST = 4;
const MOST = 40;

/** Stretches of cards that branch and meet again, like a residual block; each leads on by its last card only. */
export function sections(cards: readonly LayerCard[]): LayerCard[][] {
  const flow = cards.filter(({ kind }) => kind === 'layer' || kind === 'op');
  const place = new Map(flow.map(({ id }, at) => [id, at]));
  const lastReader = new Int32Array(flow.length);
  flow.forEach((card, at) => {
    for (const from of card.inputs.keys()) {
      const source = place.get(from);
      if (source !== undefined) lastReader[source] = Math.max(lastReader[source]!, at);
    }
  });
  const most = Math.min(MOST, flow.length / 3);
  const found: LayerCard[][] = [];
  let begin = 0;
  let reach = 0; // the last reader of what stands before
  flow.forEach((_, at) => {
    const alone = reach <= at;
    reach = Math.max(reach, lastReader[at]!);
    if (!alone) return;
    const length = at + 1 - begin;
    if (length >= FEWEST && length <= most) found.push(flow.slice(begin, at + 1));
    begin = at + 1;
  });
  return found;
}
