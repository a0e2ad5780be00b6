/** The finite range of some values, and a robust one. */
export interface ValueRange {
  low: number;
  high: number;
}

export function finiteRange(values: Float64Array): ValueRange | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : null;
}

/** The range that leaves out `share` of the finite values at either end, so that outliers do not wash out the colours. */
export function robustRange(values: Float64Array, share = 0.01): ValueRange | null {
  const finite = values.filter(Number.isFinite).sort();
  if (finite.length === 0) return null;
  const at = (place: number) => finite[Math.round(place * (finite.length - 1))] as number;
  return { low: at(share), high: at(1 - share) };
}

/** A diverging scale is centred on zero. */
export function symmetric(range: ValueRange): ValueRange {
  const reach = Math.max(Math.abs(range.low), Math.abs(range.high));
  return { low: -reach, high: reach };
}
