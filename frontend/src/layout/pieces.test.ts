import { expect, test } from 'vitest';
import { layered } from './layered';
import { pieceLayouts } from './pieces';
import type { Problem } from './problem';

const filled = (count: number, value: number) => new Array<number>(count).fill(value);

function chain(count: number, width: number): Problem {
  const source = Array.from({ length: count - 1 }, (_, i) => i);
  return {
    count,
    width: filled(count, width),
    height: filled(count, 36),
    restWidth: filled(count, width),
    restHeight: filled(count, 36),
    inOffset: filled(count, 0),
    outOffset: filled(count, 0),
    inset: filled(count, 0),
    plug: filled(count, 0),
    source,
    target: source.map((i) => i + 1),
    weight: filled(count - 1, 1),
  };
}

test('of many pieces equal ones share a layout, which is the one that each would get', () => {
  const layoutOf = pieceLayouts(100);
  const [first, again, wider, longer] = [chain(4, 90), chain(4, 90), chain(4, 91), chain(5, 90)].map(layoutOf);
  expect(again).toBe(first);
  expect(first).toEqual(layered(chain(4, 90)));
  expect(wider).toEqual(layered(chain(4, 91)));
  expect(longer).toEqual(layered(chain(5, 90)));
});

test('pieces too large to be repeated, and single ones, are laid out as ever', () => {
  const layoutOf = pieceLayouts(100);
  expect(layoutOf(chain(300, 90))).toEqual(layered(chain(300, 90)));
  expect(layoutOf(chain(1, 70))).toEqual(layered(chain(1, 70)));
});
