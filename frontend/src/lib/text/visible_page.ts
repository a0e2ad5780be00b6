import { options, type VNode } from 'preact';
import { visible } from './visible_text';

const ATTRIBUTES = ['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt'];
const PLAIN = /^[\n\t -~]*$/; // fast path for nearly all texts

/** Line ends and tabs stay, as in program text; code that draws a name in one line calls `visible` itself. */
function drawn(text: unknown): unknown {
  return typeof text !== 'string' || PLAIN.test(text) ? text : text.replace(/[^\n\t]+/g, visible);
}

/**
 * From now on no text or title of the page contains characters that are invisible or change the direction of other text, whatever its
 * source: names, notices, facts, programs. Components keep the original texts, for addresses and requests; only the document gets the
 * escaped ones.
 */
export function drawVisibly(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    if (vnode.type === null) vnode.props = drawn(vnode.props) as VNode['props'];
    else if (typeof vnode.type === 'string') drawAttributes(vnode.props as Record<string, unknown>);
    before?.(vnode);
  };
}

function drawAttributes(props: Record<string, unknown>): void {
  for (const name of ATTRIBUTES) {
    const text = drawn(props[name]);
    if (text !== props[name]) props[name] = text;
  }
}
