"""Pictures of pages, compared as a person would from afar: where things are and how light they are.

A picture is scaled down to `WIDTH` x `HEIGHT` by averaging, so that letters become grey lines: other fonts,
hinting and edges move a shade, a missing panel or another layout moves whole blocks. Chromium itself scales
and decodes.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

WIDTH, HEIGHT = 160, 100
BLOCK = 10

_SCALED = """async ([png, width, height]) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + png;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, width, height);
    const pixels = context.getImageData(0, 0, width, height).data;
    let text = '';
    for (const value of pixels) text += String.fromCharCode(value);
    return [canvas.toDataURL('image/png').split(',')[1], btoa(text)];
}"""


@dataclass(frozen=True)
class Distance:
    """Of two pictures, in shades of 0 to 255: over all of them, and in the block that differs most."""

    mean: float
    worst: float


class Pictures:
    """Scales and reads pictures, in a page of their own."""

    def __init__(self, browser: Browser) -> None:
        self._page = browser.new_page()

    def close(self) -> None:
        self._page.close()

    def scaled(self, png: bytes) -> tuple[bytes, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
        """The small picture as PNG, and its red, green and blue: float64 `[HEIGHT, WIDTH, 3]`."""
        small, pixels = self._page.evaluate(_SCALED, [base64.b64encode(png).decode(), WIDTH, HEIGHT])
        colours = np.frombuffer(base64.b64decode(pixels), np.uint8).astype(np.float64)
        return base64.b64decode(small), colours.reshape(HEIGHT, WIDTH, 4)[..., :3]

    def distance(self, png: bytes, reference: Path) -> Distance:
        """How far a picture is from one that was kept."""
        (_, found), (_, kept) = self.scaled(png), self.scaled(reference.read_bytes())
        apart = np.abs(found - kept).mean(axis=2)
        blocks = apart.reshape(HEIGHT // BLOCK, BLOCK, WIDTH // BLOCK, BLOCK).mean(axis=(1, 3))
        return Distance(float(apart.mean()), float(blocks.max()))
