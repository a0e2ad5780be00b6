import type { Progress } from '../../model/wire/findings';

/** How far an analysis is; nothing once it is done. */
export function Working({ what, progress }: { what: string; progress: Progress | null }) {
  if (progress === null) return null;
  const { done, total, doing } = progress;
  return (
    <div class="working" role="status" data-testid="working">
      <span>
        {what}
        {doing && ` (${doing})`}…
      </span>
      <progress aria-label={what} {...(total > 0 && { value: done, max: total })} />
    </div>
  );
}
