/** Which of the snapshots of a tensor at one step is on show. */

import type { Snapshot } from '../wire/answers';
import { infinities } from '../wire/statistics';

/** Visits at which there are snapshots, ascending. */
export function visitsOf(rows: readonly Snapshot[]): number[] {
  return [...new Set(rows.map((row) => row.visit))].sort((a, b) => a - b);
}

/** The one at the wanted visit (else the first that has a NaN or Inf, else the first), of the latest worker that has it; null where there is none. */
export function snapshotAt(rows: readonly Snapshot[], visit: number | null): Snapshot | null {
  const visits = visitsOf(rows);
  const [bad] = visitsOf(rows.filter((row) => row.nan + infinities(row) > 0));
  const wanted = visits.includes(visit ?? -1) ? visit : (bad ?? visits[0]);
  return rows
    .filter((row) => row.visit === wanted)
    .reduce<Snapshot | null>((latest, row) => (latest === null || row.time >= latest.time ? row : latest), null);
}
