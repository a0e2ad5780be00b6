/**
 * The page around this one: none, or TensorBoard, whose iframe has the same origin but an address that nobody sees. There the state is
 * kept for the session (a reload makes the iframe anew) and shared in a query parameter of TensorBoard's own address, which keeps
 * parameters that begin with `p.<plugin>.`.
 */
const PARAMETER = 'p.tensortap.state';
const STORED = 'tensortap.address';

function host(): Location | null {
  try {
    return window.parent === window ? null : window.parent.location;
  } catch {
    return null;
  }
}

/** The state that the surrounding page asks for, as a hash; empty where it asks for none. */
export function stateFromHost(): string {
  const around = host();
  if (!around) return '';
  try {
    return sessionStorage.getItem(STORED) ?? sharedState(around.search);
  } catch {
    return '';
  }
}

export function sharedState(search: string): string {
  const state = new URLSearchParams(search).get(PARAMETER);
  return state ? `#${state}` : '';
}

/** Remembers the state for a reload of the surrounding page. */
export function rememberForHost(hash: string): void {
  if (!host()) return;
  try {
    sessionStorage.setItem(STORED, hash);
  } catch {
    // Without storage a reload starts afresh.
  }
}

/** The address that shows this state to somebody else. */
export function shareAddress(): string {
  const around = host();
  const hash = exactPlace(location.hash);
  return around ? hostAddress(around.href, hash) : location.href.replace(/#.*$/, '') + hash;
}

/** The step that is on show now, and not whatever is the latest when the link is opened. */
export function exactPlace(hash: string): string {
  return hash.replace(/&follow=1(?=&|$)/, '');
}

export function hostAddress(href: string, hash: string): string {
  const url = new URL(href);
  url.searchParams.set(PARAMETER, hash.replace(/^#/, ''));
  return url.href;
}
