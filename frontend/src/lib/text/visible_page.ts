import { options, type VNode } from 'preact';
import { visible } from './visible_text';

const ATTRIBUTES = ['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt'];
const PLAIN = /^[\n\t -~]*$/; // nearly all texts; those that are not take the slower way

/** Ends of lines and tabs stay, as in a program's text; whoever draws names in one line asks `visible` itself. */
function drawn(text: unknown): unknown {
  return typeof text !== 'string' || PLAIN.test(text) ? text : text.replace(/[^\n\t]+/g, visible);
}

/**
 * From now on no text and no title of the page holds a character that is not seen or that turns the text around it, wherever it came from:
 * names, notices, facts, programs. Components keep the true texts, for addresses and requests; only what the document gets is written out.
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
