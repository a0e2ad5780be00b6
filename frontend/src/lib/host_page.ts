/**
 * The page around this one: none, a notebook of another origin (treated as none), or TensorBoard, whose iframe has the same origin but an
 * invisible address. There, the state is stored for the session (a reload recreates the iframe) and in a query parameter of TensorBoard's
 * address, which keeps parameters that begin with `p.<plugin>.`.
 */
const PARAMETER = 'p.tensortap.state';
const STORED = 'tensortap.address';

function host(): Location | null {
  try {
    // The location of another origin is accessible, but reading its parts throws.
    return window.parent === window || !window.parent.location.href ? null : window.parent.location;
  } catch {
    return null;
  }
}

/** Whether the page is a tab of TensorBoard. */
export function isInTensorBoard(): boolean {
  return host() !== null && window.parent.document.querySelector('tb-webapp') !== null;
}

/** Calls back with whether TensorBoard is dark, now and at each change. Without TensorBoard it does nothing. */
export function listenToHostTheme(heard: (dark: boolean) => void): void {
  const body = host() && window.parent.document.querySelector('tb-webapp') && window.parent.document.body;
  if (!body) return;
  const tell = () => heard(body.classList.contains('dark-mode'));
  new MutationObserver(tell).observe(body, { attributeFilter: ['class'] });
  tell();
}

/** The initial state: the view before a reload, else the state in the surrounding page's address; empty for none. */
export function stateFromHost(): string {
  const around = host();
  if (!around) return '';
  const shared = sharedState(around.search);
  try {
    const [asked, shown] = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    // A new shared link overrides the last view.
    return (asked === shared || shown === shared) && typeof shown === 'string' ? shown : shared;
  } catch {
    return shared;
  }
}

export function sharedState(search: string): string {
  const state = new URLSearchParams(search).get(PARAMETER);
  return state ? `#${state}` : '';
}

/** The state in the surrounding page's address at load: TensorBoard may write it again. */
let asked: string | null = null;

/** Stores the state for a reload of the surrounding page, and in its address. */
export function rememberForHost(hash: string): void {
  const around = host();
  if (!around) return;
  asked ??= sharedState(around.search);
  try {
    sessionStorage.setItem(STORED, JSON.stringify([asked, hash]));
    if (isInTensorBoard()) window.parent.history.replaceState(window.parent.history.state, '', hostAddress(around.href, exactPlace(hash)));
  } catch {
    // Without storage, or if a browser limits address changes, a reload starts from scratch.
  }
}

/** The address of this state, to share. */
export function shareAddress(): string {
  return addressOf(exactPlace(location.hash));
}

/** The same for another state. */
export function addressOf(hash: string): string {
  const around = host();
  return around ? hostAddress(around.href, hash) : location.href.replace(/#.*$/, '') + hash;
}

/** Fixes the current step, instead of the latest step at the time the link is opened. */
export function exactPlace(hash: string): string {
  return hash.replace(/&follow=1(?=&|$)/, '');
}

export function hostAddress(href: string, hash: string): string {
  const url = new URL(href);
  url.searchParams.set(PARAMETER, hash.replace(/^#/, ''));
  return url.href;
}

/** Whether an address leads to a server on this computer, which others cannot open. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\]|::1)$/i.test(host);
}

/** The command that forwards the port of a server that only listens on this computer. */
export function forwardingCommand(port: string): string {
  return `ssh -L ${port}:localhost:${port} USER@HOST`;
}
