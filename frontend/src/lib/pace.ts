/** What scrolls by within that time is not worth asking for, or drawing. */
const PACE_MS = 100;

/** Does what is newest: at once, but again only after a while, so that what changes without a rest is followed, and seldom. */
export class Pace {
  private last = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;

  run(act: () => void): void {
    this.cancel();
    const wait = this.last + PACE_MS - performance.now();
    const now = () => {
      this.last = performance.now();
      act();
    };
    if (wait > 0) this.timer = setTimeout(now, wait);
    else now();
  }

  cancel(): void {
    clearTimeout(this.timer);
  }
}
