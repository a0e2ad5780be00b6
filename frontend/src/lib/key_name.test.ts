import { expect, test } from 'vitest';
import { keyName } from './key_name';

test.each([
  ['Ctrl+K', 'MacIntel', '⌘ K'],
  ['Ctrl+Home', 'iPad', '⌘ Home'],
  ['Ctrl+K', 'Linux x86_64', 'Ctrl+K'],
  ['n', 'MacIntel', 'n'],
])('%s on %s is %s', (name, platform, told) => {
  expect(keyName(name, platform)).toBe(told);
});
