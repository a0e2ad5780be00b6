/** The visible slice of a long list: items `first` to `last - 1`, the first one at `offset` of `total` pixels. */
export interface VirtualWindow {
  first: number;
  last: number;
  offset: number;
  total: number;
}

/** Browsers position nothing reliably beyond about 30 million pixels; longer lists scroll proportionally faster. */
export const MOST_PIXELS = 12_000_000;

/** Which of `count` items of equal size are visible, with `overscan` more on either side. */
export function virtualWindow(scroll: number, viewport: number, itemSize: number, count: number, overscan = 4): VirtualWindow {
  const full = count * itemSize;
  const total = Math.min(full, MOST_PIXELS);
  const place = Math.max(0, scroll) * scrollScale(viewport, itemSize, count);
  const top = Math.floor(place / itemSize);
  const visible = Math.ceil(Math.max(0, viewport) / itemSize) + 1;
  const first = Math.max(0, Math.min(top, count) - overscan);
  const last = Math.max(first, Math.min(count, top + visible + overscan));
  return { first, last, offset: Math.max(0, scroll) - place + first * itemSize, total };
}

/** How many pixels of the list one pixel of scrolling moves. */
export function scrollScale(viewport: number, itemSize: number, count: number): number {
  const full = count * itemSize;
  if (full <= MOST_PIXELS) return 1;
  return Math.max(1, full - viewport) / Math.max(1, MOST_PIXELS - viewport);
}

/** Scroll position that centres item `index`. */
export function scrollTo(index: number, viewport: number, itemSize: number, count: number): number {
  return Math.max(0, (index * itemSize - viewport / 2 + itemSize / 2) / scrollScale(viewport, itemSize, count));
}
