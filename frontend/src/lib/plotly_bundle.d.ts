/** The part of Plotly that the page uses. */
declare module 'plotly.js-cartesian-dist-min' {
  export type Trace = Record<string, unknown>;
  export type Layout = Record<string, unknown>;
  export type Config = Record<string, unknown>;

  export interface PlotPoint {
    x: number;
    y: number;
    curveNumber: number;
    pointIndex: number;
    customdata?: unknown;
  }

  export interface PlotEvent {
    points: PlotPoint[];
  }

  export interface FullAxis {
    _offset: number;
    _length: number;
    range: [number, number];
    l2p(value: number): number;
    p2l(pixel: number): number;
  }

  export interface PlotElement extends HTMLElement {
    _fullLayout?: { xaxis: FullAxis; yaxis: FullAxis };
    on(event: 'plotly_relayout', handler: (change: Record<string, unknown>) => void): void;
    on(event: 'plotly_doubleclick', handler: () => void): void;
    on(event: string, handler: (event: PlotEvent) => void): void;
    removeAllListeners(event: string): void;
  }

  export interface Plotly {
    react(element: HTMLElement, traces: Trace[], layout: Layout, config?: Config): Promise<PlotElement>;
    relayout(element: HTMLElement, update: Layout): Promise<PlotElement>;
    toImage(element: HTMLElement, options: { format: 'png' | 'svg'; width: number; height: number; scale: number }): Promise<string>;
    purge(element: HTMLElement): void;
    Plots: { resize(element: HTMLElement): Promise<void> };
  }

  const plotly: Plotly;
  export default plotly;
}
