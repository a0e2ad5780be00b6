import type { Sample, Snapshot } from '../wire/answers';

/** Which elements of a value a sample holds (FORMAT.md, "Samples"), so that an element can say where in the whole it stood. */

/** The row of what was kept: one dimension where only a sample was. */
export function keptPart(row: Snapshot): Snapshot {
  if (!row.sample) return row;
  const kept = Math.min(row.sample.count, row.size);
  return { ...row, shape: [kept], size: kept };
}

/** Position in the flattened whole of the `i`-th kept element. */
export function samplePosition(sample: Sample, size: number, i: number): number {
  const kept = Math.min(sample.count, size);
  const edge = (n: number) => Number((BigInt(n) * BigInt(size)) / BigInt(kept));
  if (sample.how === 'even') return edge(i);
  return edge(i) + Number(scrambled(sample.seed, i) % BigInt(edge(i + 1) - edge(i)));
}

/** SplitMix64 (Steele, Lea, Flood 2014), as the writer draws. */
function scrambled(seed: number, i: number): bigint {
  const wrap = (value: bigint) => BigInt.asUintN(64, value);
  let state = wrap(((BigInt(seed) << 32n) + BigInt(i)) * 0x9e3779b97f4a7c15n);
  state = wrap((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  state = wrap((state ^ (state >> 27n)) * 0x94d049bb133111ebn);
  return state ^ (state >> 31n);
}

export function unravel(position: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let rest = position;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    const length = shape[dim] as number;
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return index;
}

/** What was kept, in words. */
export function sampleText(sample: Sample): string {
  return sample.how === 'even' ? 'evenly spaced' : `drawn at random, one of each stretch (seed ${sample.seed})`;
}
