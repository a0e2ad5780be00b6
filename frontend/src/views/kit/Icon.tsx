/** Line icons on a 16 px grid. Adding one is one row. */
const PATHS = {
  previous: 'M10.5 3.5 5.5 8l5 4.5',
  next: 'M5.5 3.5 10.5 8l-5 4.5',
  play: 'M5 3.2v9.6L12.5 8Z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6Z',
  help: 'M6 6.2a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.3M8 11.8v.01M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z',
  down: 'm4.5 6.5 3.5 3.5 3.5-3.5',
  right: 'm6.5 4.5 3.5 3.5-3.5 3.5',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3l3.2 3.2',
  copy: 'M5.5 5.5v-2a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-2M3.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1Z',
  check: 'm3.5 8.5 3 3 6-7',
  info: 'M8 7.2v4M8 4.8v.01M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z',
  close: 'm4 4 8 8M12 4l-8 8',
  warning: 'M8 2.2 14.3 13H1.7L8 2.2ZM8 6.5v3M8 11.2v.01',
  download: 'M8 2.5v7.2M4.8 6.8 8 10l3.2-3.2M3 13h10',
  expand: 'M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5 9 7M2.5 13.5 7 9',
  collapse: 'M13.5 6.5h-4v-4M2.5 9.5h4v4M9.5 6.5l4-4M6.5 9.5l-4 4',
  panel: 'M2.5 3.5h11v9h-11zM10 3.5v9',
  sidebar: 'M2.5 3.5h11v9h-11zM6 3.5v9',
  graph: 'M3 3h4v3H3zM9 10h4v3H9zM3 10h4v3H3zM5 6v4M7 11.5h2',
  table: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6',
  link: 'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9',
  pin: 'M10 2.5 13.5 6l-2.6.9-2.2 2.3-.4 2.6-4.1-4.1 2.6-.4 2.3-2.2L10 2.5ZM6 10l-3.5 3.5',
  grid: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  columns: 'M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9',
  star: 'm8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5Z',
  edit: 'M3 13l.7-2.8 7-7 2.1 2.1-7 7L3 13ZM9.3 4.6l2.1 2.1',
  latest: 'm3.5 3.5 5 4.5-5 4.5ZM12 3.5v9',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon-svg" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
