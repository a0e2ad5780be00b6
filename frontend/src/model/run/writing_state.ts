/** How it stands with a worker, or a run, in the words of `tensortap info`: `not closed` was killed, or is in a long step. */
export function writingState({ closed, live }: { closed: boolean; live: boolean }): 'closed' | 'live' | 'not closed' {
  if (closed) return 'closed';
  return live ? 'live' : 'not closed';
}
