/**
 * The page around this one: none, a notebook of another origin, which is none either, or TensorBoard, whose iframe has the same origin but an address that nobody sees. There the state is
 * kept for the session (a reload makes the iframe anew) and written to a query parameter of TensorBoard's own address, which keeps
 * parameters that begin with `p.<plugin>.`.
 */
const PARAMETER = 'p.tensortap.state';
const STORED = 'tensortap.address';

function host(): Location | null {
  try {
    // Of another origin, the location can be had, but throws when anything of it is read.
    return window.parent === window || !window.parent.location.href ? null : window.parent.location;
  } catch {
    return null;
  }
}

/** Whether the page is a tab of TensorBoard. */
export function isInTensorBoard(): boolean {
  return host() !== null && window.parent.document.querySelector('tb-webapp') !== null;
}

/** Tells whether TensorBoard is dark, at once and whenever that changes. Without TensorBoard around it tells nothing. */
export function listenToHostTheme(heard: (dark: boolean) => void): void {
  const body = host() && window.parent.document.querySelector('tb-webapp') && window.parent.document.body;
  if (!body) return;
  const tell = () => heard(body.classList.contains('dark-mode'));
  new MutationObserver(tell).observe(body, { attributeFilter: ['class'] });
  tell();
}

/** The state to begin with: the view before a reload, else what the surrounding page's address asks for; empty for none. */
export function stateFromHost(): string {
  const around = host();
  if (!around) return '';
  const shared = sharedState(around.search);
  try {
    const [asked, shown] = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    // Another shared link than before wins over the last view.
    return (asked === shared || shown === shared) && typeof shown === 'string' ? shown : shared;
  } catch {
    return shared;
  }
}

export function sharedState(search: string): string {
  const state = new URLSearchParams(search).get(PARAMETER);
  return state ? `#${state}` : '';
}

/** What the surrounding page's address asked for when this page began: TensorBoard may write it again. */
let asked: string | null = null;

/** Remembers the state for a reload of the surrounding page, whose address follows it. */
export function rememberForHost(hash: string): void {
  const around = host();
  if (!around) return;
  asked ??= sharedState(around.search);
  try {
    sessionStorage.setItem(STORED, JSON.stringify([asked, hash]));
    if (isInTensorBoard()) window.parent.history.replaceState(window.parent.history.state, '', hostAddress(around.href, exactPlace(hash)));
  } catch {
    // Without storage, or where a browser counts too many addresses, a reload starts afresh.
  }
}

/** The address that shows this state to somebody else. */
export function shareAddress(): string {
  return addressOf(exactPlace(location.hash));
}

/** The same of another state. */
export function addressOf(hash: string): string {
  const around = host();
  return around ? hostAddress(around.href, hash) : location.href.replace(/#.*$/, '') + hash;
}

/** The current step now, and not whatever is the latest when the link is opened. */
export function exactPlace(hash: string): string {
  return hash.replace(/&follow=1(?=&|$)/, '');
}

export function hostAddress(href: string, hash: string): string {
  const url = new URL(href);
  url.searchParams.set(PARAMETER, hash.replace(/^#/, ''));
  return url.href;
}

/** Whether an address leads to a server on this very computer, so that others cannot open it. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\]|::1)$/i.test(host);
}

/** The line that lets somebody else's computer reach a server that listens on this one only. */
export function forwardingCommand(port: string): string {
  return `ssh -L ${port}:localhost:${port} USER@HOST`;
}
