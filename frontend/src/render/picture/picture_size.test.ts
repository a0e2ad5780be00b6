import { expect, test } from 'vitest';
import { DEFAULT_PICTURE, type PictureSettings, readPictureSettings } from '../../model/run/view_settings';
import { MOST_PIXELS, MOST_SIDE, type PictureSubject, planPicture } from './picture_size';

const SUBJECT: PictureSubject = {
  camera: { x: 5, y: 6, zoom: 0.4 },
  view: { width: 800, height: 500 },
  whole: { width: 3000, height: 900 },
  footer: () => 40,
};

const settings = (part: Partial<PictureSettings>): PictureSettings => ({ ...DEFAULT_PICTURE, ...part });

test('the current view keeps its camera; a PNG has pixels for each of the page', () => {
  const plan = planPicture(settings({ format: 'png', scale: 2 }), SUBJECT);
  expect(plan.camera).toEqual(SUBJECT.camera);
  expect([plan.width, plan.height, plan.ratio]).toEqual([1600, 1080, 2]);
});

test('the whole graph has its own size, and a margin', () => {
  const plan = planPicture(settings({ what: 'whole', format: 'svg', scale: 4 }), SUBJECT);
  expect(plan.camera).toEqual({ x: 1500, y: 450, zoom: 1 });
  expect([plan.width, plan.height]).toEqual([3048, 988]);
  expect(plan.tooLarge).toBeNull();
});

test('a small graph leaves room for the legend', () => {
  const plan = planPicture(settings({ what: 'whole' }), { ...SUBJECT, whole: { width: 90, height: 60 } });
  expect(plan.view.width).toBe(420);
});

test.each([
  ['long', { width: 900, height: 90_000 }, 1],
  ['wide and high', { width: 30_000, height: 30_000 }, 4],
  ['just too large at its scale', { width: 6000, height: 900 }, 4],
] as const)('a graph that is %s becomes as large as a canvas may be, and that is told', (_, whole, scale) => {
  const plan = planPicture(settings({ what: 'whole', format: 'png', scale }), { ...SUBJECT, whole });
  expect(Math.max(plan.width, plan.height)).toBeLessThanOrEqual(MOST_SIDE);
  expect(plan.width * plan.height).toBeLessThanOrEqual(MOST_PIXELS);
  expect(Math.max(plan.width / MOST_SIDE, plan.height / MOST_SIDE, (plan.width * plan.height) / MOST_PIXELS)).toBeGreaterThan(0.95);
  expect(plan.tooLarge?.width).toBe((whole.width + 48) * scale);
  // As the screen does it: below its own size a graph shows less detail, above it is drawn finer.
  expect(plan.camera.zoom).toBeCloseTo(Math.min(1, plan.scale));
  expect(plan.camera.zoom * plan.ratio).toBeCloseTo(plan.scale);
});

test('an SVG may be of any size', () => {
  expect(planPicture(settings({ what: 'whole' }), { ...SUBJECT, whole: { width: 90_000, height: 9 } }).tooLarge).toBeNull();
});

test('a stored settings is taken as far as it is one', () => {
  expect(readPictureSettings({ what: 'whole', format: 'gif', scale: 3, legend: false })).toEqual(
    settings({ what: 'whole', legend: false, caption: true }),
  );
  expect(readPictureSettings('png')).toBeNull();
});
