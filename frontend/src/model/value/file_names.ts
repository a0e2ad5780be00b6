/** What a file holds of a tensor. */
export interface FileOf {
  tensor: string;
  step?: number | undefined;
  /** Which of several visits; null where there is one. */
  visit?: number | null;
  /** Which part of the value, as the server takes it: `0,:,10:20`. */
  selection?: string;
  /** What is drawn of it: `histogram`. */
  what?: string | undefined;
}

const LONGEST_NAME = 100;
const LONGEST_PART = 120;

/** The name of a file about a tensor, without its ending; values that the server sends are called alike (server/routes/values.py). */
export function tensorFile({ tensor, step, visit, selection, what }: FileOf): string {
  const name = tensor
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._]+|[._]+$/g, '')
    .slice(-LONGEST_NAME);
  const parts = (selection ?? '').split(',');
  const whole = parts.every((part) => part === '' || part === ':');
  return [
    name || 'tensor',
    step === undefined ? '' : `-step${step}`,
    visit == null ? '' : `-visit${visit}`,
    whole ? '' : `-at_${parts.map(speakable).join('_')}`.slice(0, LONGEST_PART),
    what === undefined ? '' : `-${what}`,
  ].join('');
}

/** A part of a selection without colons, which not every file system takes: `10to20`, `all`, `allby2`. */
function speakable(part: string): string {
  const [first = '', ...bounds] = part.split(':');
  if (bounds.length === 0) return first;
  const span = first || bounds[0] ? `${first}to${bounds[0]}` : 'all';
  return (
    span +
    bounds
      .slice(1)
      .map((stride) => `by${stride}`)
      .join('')
  );
}
