/** Colours as `#rrggbb`: mixing, luminance and contrast; and colour scales as tables of 256 RGB colours. */

export function parseColour(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1, 7), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function formatColour(red: number, green: number, blue: number): string {
  return `#${((1 << 24) | (Math.round(red) << 16) | (Math.round(green) << 8) | Math.round(blue)).toString(16).slice(1)}`;
}

/** Mixes `a` with a `share` of `b`. */
export function mixColours(a: string, b: string, share: number): string {
  const [from, to] = [parseColour(a), parseColour(b)];
  const at = (i: 0 | 1 | 2): number => from[i] + (to[i] - from[i]) * share;
  return formatColour(at(0), at(1), at(2));
}

/** Relative luminance (WCAG), 0 to 1. */
export function luminance(hex: string): number {
  const [r, g, b] = parseColour(hex).map((byte) => {
    const c = byte / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast ratio of two colours (WCAG), 1 to 21. */
export function contrast(a: string, b: string): number {
  const [high, low] = [Math.max(luminance(a), luminance(b)), Math.min(luminance(a), luminance(b))];
  return (high + 0.05) / (low + 0.05);
}

/** Colour scales: viridis and magma (sequential, perceptually even), red-blue (diverging), grey. */
export type ColormapName = 'viridis' | 'magma' | 'diverging' | 'grey';

/**
 * Evenly spaced colours of each scale, six digits per colour. Colours in between are interpolated, at most one level of 255 off the
 * originals.
 */
const SCALES: Record<ColormapName, string> = {
  // van der Walt and Smith, matplotlib 2.0 (CC0)
  viridis:
    '44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c355e8d33638d31688e2e6d8e2c718e' +
    '2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa18821a58524aa8328ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e' +
    '70cf577cd25089d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725',
  magma:
    '00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e6219806a1c81721f81792282812581' +
    '892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426fd9466be04c67e75263ec5860f1605df4695cf7725cf97b5dfb8560fc8e64' +
    'fd9869fea16efeaa74feb47bfebd82fec68afecf92fed89afde2a3fdebacfcf4b6fcfdbf',
  // ColorBrewer's RdBu by Cynthia Brewer (Apache-2.0), from blue to red
  diverging: '0530612166ac4393c392c5ded1e5f0f7f7f7fddbc7f4a582d6604db2182b67001f',
  grey: '000000ffffff',
};

const tables = new Map<ColormapName, Uint8Array>();

/** A colour scale as a table of 256 RGB colours: 256 × 3 bytes. */
export function colormap(name: ColormapName): Uint8Array {
  let table = tables.get(name);
  if (!table) {
    table = Uint8Array.from(Array.from({ length: 256 }, (_, i) => scaleColour(SCALES[name], i / 255)).flat());
    tables.set(name, table);
  }
  return table;
}

function scaleColour(scale: string, place: number): [number, number, number] {
  const colours = scale.length / 6;
  const at = place * (colours - 1);
  const left = Math.min(colours - 2, Math.floor(at));
  const colour = (i: number): string => `#${scale.slice(6 * i, 6 * i + 6)}`;
  return parseColour(mixColours(colour(left), colour(left + 1), at - left));
}

/** Position of a value between `low` and `high` as a table index 0 to 255, clipped. */
export function colourIndex(value: number, low: number, high: number): number {
  if (high <= low) return value > low ? 255 : 0; // equal elements get the lowest colour
  // In halves: the difference of two large numbers may overflow.
  return Math.max(0, Math.min(255, Math.round(255 * ((value / 2 - low / 2) / (high / 2 - low / 2)))));
}
