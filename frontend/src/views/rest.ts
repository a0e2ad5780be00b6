/** What is not on the first screen, as one file that is fetched once that is drawn. */

export { CompareView } from './compare/CompareView';
export { EventsView } from './events/EventsView';
export { Palette } from './palette/Palette';
export { ProblemsView } from './problems/ProblemsView';
export { ReplayView } from './replay/ReplayView';
export { Help } from './shell/Help';
export { SourceView } from './source/SourceView';
export { TensorTableView } from './table/TensorTableView';
export { TimelineView } from './timeline/TimelineView';
