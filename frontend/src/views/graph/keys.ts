/** The graph's keys, for the help overlay and for the handler; one row a key. */
export interface GraphKey {
  readonly keys: readonly string[];
  readonly does: string;
}

export const GRAPH_KEYS: readonly GraphKey[] = [
  { keys: ['drag', 'Shift+wheel'], does: 'Pan' },
  { keys: ['wheel', 'pinch', '+', '-'], does: 'Zoom at the pointer; at the centre with + and -' },
  { keys: ['f'], does: 'Fit the whole graph' },
  { keys: ['z'], does: 'Centre on the selection' },
  { keys: ['/', 'Ctrl+F'], does: 'Search; Enter and Shift+Enter go to the next and previous hit' },
  { keys: ['↑', '↓'], does: 'Go to an input, to a consumer' },
  { keys: ['←', '→'], does: 'Go to the neighbour on the left, on the right' },
  { keys: ['Enter', 'double click'], does: 'Open or close the scope' },
  { keys: ['Backspace'], does: 'Go out to the enclosing scope' },
  { keys: ['[', ']'], does: 'Close all scopes, open all scopes' },
  { keys: ['c'], does: 'Show or hide control edges' },
  { keys: ['Esc'], does: 'Clear the search, then the selection' },
];
