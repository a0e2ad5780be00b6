import { expect, test } from 'vitest';
import { sortedNaturally } from './natural';

test.each([
  [['AddN', 'AddN_1', 'AddN_2', 'AddN_10', 'block_2/a', 'block_10/a']],
  [['layer', 'layer_0', 'layer_00', 'layer_01', 'layer_1', 'layer_1/a', 'layer_2', 'layer_010']],
])('numbers count, zeros in front of them do not: %j', (names) => {
  expect(sortedNaturally([...names].reverse(), (name) => name)).toEqual(names);
});
