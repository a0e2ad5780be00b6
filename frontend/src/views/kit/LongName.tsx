/** Runs of one study differ at the end of their names: so much of it stays. */
const END = 14;

/** A name of which the middle gives way where there is no room for all of it. */
export function LongName({ name }: { name: string }) {
  const letters = [...name]; // not halves of them
  const cut = Math.max(0, letters.length - END);
  return (
    <span class="long-name" title={name}>
      <span>{letters.slice(0, cut).join('')}</span>
      <span>{letters.slice(cut).join('')}</span>
    </span>
  );
}
