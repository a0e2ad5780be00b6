/** Views that are not on the first screen: one chunk, fetched after it is drawn. `lazyViews` in shell/MainView.tsx loads it. */

export { CompareView } from './compare/CompareView';
export { EventsView } from './events/EventsView';
export { Palette } from './palette/Palette';
export { WorkersTab } from './panel/WorkersTab';
export { ProblemsView } from './problems/ProblemsView';
export { ReplayView } from './replay/ReplayView';
export { Help } from './shell/Help';
export { SourceView } from './source/SourceView';
export { TensorTableView } from './table/TensorTableView';
export { TimelineView } from './timeline/TimelineView';
