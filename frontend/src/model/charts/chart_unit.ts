/** Plotly places no ticks between numbers near the ends of what a double holds: such axes are drawn in units of a power of ten. */
export interface ChartUnit {
  /** In these units. */
  at(value: number): number;
  /** `× 1e-310`, for the axis' title; empty where numbers are drawn as they are. */
  text: string;
}

/** Numbers as they are. */
const PLAIN: ChartUnit = { at: (value) => value, text: '' };

/** Powers of ten that Plotly draws by itself. */
const LEAST = -280;
const MOST = 300;

/** The unit that suits the largest finite magnitude of all columns. */
export function chartUnit(columns: readonly (readonly number[])[]): ChartUnit {
  let most = 0;
  for (const column of columns) for (const value of column) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  const power = most === 0 ? 0 : Math.floor(Math.log10(most));
  if (power >= LEAST && power <= MOST) return PLAIN;
  // In two halves, because 1e324 is infinite.
  const half = 10 ** Math.trunc(-power / 2);
  const rest = 10 ** (-power - Math.trunc(-power / 2));
  return { at: (value) => value * half * rest, text: `× 1e${power}` };
}

/** A title and the unit behind it. */
export function unitTitle(title: string, { text }: ChartUnit): string {
  return [title, text].filter(Boolean).join(' ');
}
