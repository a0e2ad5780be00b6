import { expect, test } from 'vitest';
import { exactPlace, hostAddress, sharedState } from './host_page';

test("TensorBoard's address carries the state there and back", () => {
  const hash = '#run=a&step=7&tensor=dense/MatMul:0';
  const shared = hostAddress('http://localhost:6006/?darkMode=true#tensortap', hash);
  expect(shared).toContain('darkMode=true');
  expect(shared.endsWith('#tensortap')).toBe(true);
  expect(sharedState(new URL(shared).search)).toBe(hash);
});

test('an address without a state asks for none', () => {
  expect(sharedState('?darkMode=true')).toBe('');
});

test('a shared link names the step and follows nothing', () => {
  expect(exactPlace('#run=a&step=7&follow=1&view=table')).toBe('#run=a&step=7&view=table');
  expect(exactPlace('#run=a&step=7')).toBe('#run=a&step=7');
});
