import { formatNumber } from '../../lib/format';

/** A metric as text, empty where it is unknown. */
export function numberText(value: number): string {
  return Number.isNaN(value) ? '' : formatNumber(value, 3);
}
