import { expect, test } from 'vitest';
import { forwardingCommand, isLoopback } from './forwarding';

test.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])('%s is this computer', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['gpu-3', '10.0.0.7', 'localhost.example.org', '127.example.org'])('%s may be another one', (host) => {
  expect(isLoopback(host)).toBe(false);
});

test('the port is forwarded as it is', () => {
  expect(forwardingCommand('6006')).toBe('ssh -L 6006:localhost:6006 USER@HOST');
});
