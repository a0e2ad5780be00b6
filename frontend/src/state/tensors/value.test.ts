import { expect, test, vi } from 'vitest';

// Preferences and the screen's settings are read from a browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, {
    window: globalThis,
    addEventListener: () => undefined,
    matchMedia: () => matches,
    localStorage: { getItem: () => null, setItem: () => undefined },
  });
});

import { chosenMappings } from '../page/choices';
import { focusElement, focusedElement } from './value';

test('an element of the current slice is gone to without choosing another slice, which would be fetched anew', () => {
  const before = chosenMappings.value;
  focusElement([]);
  expect(focusedElement.value).toEqual([]);
  expect(chosenMappings.value).toBe(before);
});
