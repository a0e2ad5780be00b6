import type { Sample, Snapshot } from '../wire/answers';

/** Which elements of a value a sample contains (FORMAT.md, "Samples"), to show their original index. */

/** The stored shape: one dimension for a sample. */
export function keptPart(row: Snapshot): Snapshot {
  if (!row.sample) return row;
  const kept = Math.min(row.sample.count, row.size);
  return { ...row, shape: [kept], size: kept };
}

/** Position of the `i`-th stored element in the flattened value. */
export function samplePosition(sample: Sample, size: number, i: number): number {
  const kept = Math.min(sample.count, size);
  const edge = (n: number) => Number((BigInt(n) * BigInt(size)) / BigInt(kept));
  if (sample.how === 'even') return edge(i);
  return edge(i) + Number(scrambled(sample.seed, i) % BigInt(edge(i + 1) - edge(i)));
}

/** SplitMix64 (Steele, Lea, Flood 2014), as in the writer. */
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

/** Description of the stored elements. */
export function sampleText(sample: Sample): string {
  return sample.how === 'even' ? 'evenly spaced' : `drawn at random, one per interval (seed ${sample.seed})`;
}
