import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../../lib/clipboard';
import { Icon } from './Icon';

/** Copies `text`; a tick says for a moment that it did. */
export function CopyButton({ text, label, caption }: { text: string; label: string; caption?: string }) {
  const [copied, setCopied] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    setCopied(await copyText(text));
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setCopied(false), 1500);
  };
  const shape = caption ? 'button small' : 'button quiet icon small';
  return (
    <button type="button" class={`${shape} copy`} aria-label={label} title={label} onClick={copy} data-copied={copied}>
      <Icon name={copied ? 'check' : 'copy'} />
      {caption}
    </button>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div class="code-block">
      <pre>{code}</pre>
      <CopyButton text={code} label={label} />
    </div>
  );
}
