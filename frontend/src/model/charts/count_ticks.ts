/** The distance of ticks on an axis of counts from 0: 1, 2 or 5 times a power of ten, whole, for three ticks or fewer up to the largest. */
export function countTick(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most / 3)));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => most / step <= 3) ?? power;
}
