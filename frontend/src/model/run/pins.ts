/** Pinned tensors: at the current run and step, or at another run or a fixed step. */

import { shortNames } from '../wire/names';

export interface Pin {
  readonly tensor: string;
  /** Null is the current run. */
  readonly run: string | null;
  /** Null is the current step. */
  readonly step: number | null;
}

/** `@step,run|tensor`; either may be missing. */
const PLACED = /^@(\d{0,15})(?:,([^|]*))?\|(.*)$/s;

export const pinHere = (tensor: string): Pin => ({ tensor, run: null, step: null });

/** As in the address: only the tensor, if run and step are the current ones. */
export function pinText({ tensor, run, step }: Pin): string {
  if (run === null && step === null && !tensor.startsWith('@')) return tensor;
  return `@${step ?? ''}${run === null ? '' : `,${encodeURIComponent(run)}`}|${tensor}`;
}

export function parsePin(text: string): Pin {
  const [, step = '', run = '', tensor] = PLACED.exec(text) ?? [];
  if (tensor === undefined) return pinHere(text);
  return { tensor, run: decoded(run) || null, step: step === '' ? null : Number(step) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Short, distinct names: of the tensor, and of its run and step. */
export function pinLabels(pins: readonly Pin[], nameOfRun: (run: string) => string): string[] {
  const tensors = [...new Set(pins.map(({ tensor }) => tensor))];
  const names = new Map(shortNames(tensors).map((name, i) => [tensors[i], name]));
  return pins.map(({ tensor, run, step }) =>
    [names.get(tensor) ?? tensor, run === null ? '' : nameOfRun(run), step === null ? '' : `step ${step}`].filter(Boolean).join(' · '),
  );
}
