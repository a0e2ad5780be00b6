/** Whether an address leads to a server on this very computer, so that others cannot open it. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\]|::1)$/i.test(host);
}

/** The line that lets somebody else's computer reach a server that listens on this one only. */
export function forwardingCommand(port: string): string {
  return `ssh -L ${port}:localhost:${port} USER@HOST`;
}
