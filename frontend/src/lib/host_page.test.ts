import { expect, test } from 'vitest';
import { exactPlace, forwardingCommand, hostAddress, isLoopback, sharedState } from './host_page';

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

test.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])('%s is this computer', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['gpu-3', '10.0.0.7', 'localhost.example.org', '127.example.org'])('%s may be another one', (host) => {
  expect(isLoopback(host)).toBe(false);
});

test('the port is forwarded as it is', () => {
  expect(forwardingCommand('6006')).toBe('ssh -L 6006:localhost:6006 USER@HOST');
});
