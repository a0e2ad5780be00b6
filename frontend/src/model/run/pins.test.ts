import { expect, test } from 'vitest';
import { type Pin, parsePin, pinHere, pinLabels, pinText } from './pins';

test.each<[Pin, string]>([
  [{ tensor: 'a/Relu:0', run: null, step: null }, 'a/Relu:0'],
  [{ tensor: 'a/Relu:0', run: null, step: 12 }, '@12|a/Relu:0'],
  [{ tensor: 'a/Relu:0', run: 'cnn-1', step: null }, '@,cnn-1|a/Relu:0'],
  [{ tensor: 'a/Relu:0', run: 'a|b,c', step: 0 }, '@0,a%7Cb%2Cc|a/Relu:0'],
  [{ tensor: '@odd|name:0', run: null, step: null }, '@|@odd|name:0'],
])('%j', (pin, text) => {
  expect(pinText(pin)).toBe(text);
  expect(parsePin(text)).toEqual(pin);
});

test('what only begins like a place is a name', () => {
  expect(parsePin('@home')).toEqual(pinHere('@home'));
});

test('labels say of which run and step a pin is', () => {
  const pins = [pinHere('a/Relu:0'), { tensor: 'a/Relu:0', run: 'r', step: null }, { tensor: 'b/Relu:0', run: null, step: 3 }];
  expect(pinLabels(pins, () => 'cnn')).toEqual(['a/Relu:0', 'a/Relu:0 · cnn', 'b/Relu:0 · step 3']);
});
