import { counted, formatCount } from '../../lib/format';
import type { LedgerEntry } from './findings';

/** Whether a variable has no gradient at all, not even one of zeros: it is frozen, or cut off from the loss. */
export const hasNoGradient = (entry: LedgerEntry): boolean => entry.reason === 'disconnected' && entry.zero_steps === 0;

const LEAST = 0.005; // share of lost updates up to which none is told: it is shown as 0 %

/** Whether there is something to tell of a variable: zeros, no gradient, or lost updates. */
export const hasNews = (entry: LedgerEntry): boolean => entry.reason !== '' || (entry.absorbed ?? 0) > LEAST;

/** What is wrong with the variables that are listed: those without a gradient are counted apart, as frozen ones are no dead layers. */
export function ledgerHeading(listed: readonly LedgerEntry[]): string {
  const apart = listed.filter(hasNoGradient).length;
  if (apart === listed.length) return `${counted(apart, 'variable')} without a gradient`;
  const dead = `Dead layers: ${counted(listed.length - apart, 'variable')} with zero gradients or lost updates`;
  return apart > 0 ? `${dead}, ${formatCount(apart)} without a gradient` : dead;
}

/** At how many steps the gradient was 0. */
export function zeroAt(entry: LedgerEntry): string {
  if (hasNoGradient(entry)) return 'no gradient';
  return entry.zero_steps > 0 ? `${formatCount(entry.zero_steps)} of ${counted(entry.steps, 'step')}` : 'never';
}

/** Of how many pairs of neighbouring steps the share of lost updates is, where not all were compared; else empty. */
export function comparedPairs({ absorbed_steps, absorbed_of }: LedgerEntry): string {
  return absorbed_steps < absorbed_of ? `of ${formatCount(absorbed_steps)} of ${formatCount(absorbed_of)} pairs of steps` : '';
}
