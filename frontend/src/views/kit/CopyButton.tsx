import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../../lib/download';
import { Icon, type IconName } from './Icon';

/** Copies `text`; a tick confirms it for a moment. */
interface CopyProps {
  /** The text to copy; a function if it is only known on demand. */
  text: string | (() => string);
  label: string;
  icon?: IconName;
  large?: boolean;
}

export function CopyButton({ text, label, icon = 'copy', large }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    setCopied(await copyText(typeof text === 'string' ? text : text()));
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button
      type="button"
      class={`button quiet icon copy ${large ? '' : 'small'}`}
      aria-label={label}
      title={label}
      onClick={copy}
      data-copied={copied}
    >
      <Icon name={copied ? 'check' : icon} />
    </button>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div class="code-block">
      {/* Wider than its place it scrolls, by keys too. */}
      <pre tabIndex={0}>{code}</pre>
      <CopyButton text={code} label={label} />
    </div>
  );
}
