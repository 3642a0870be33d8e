"""Pictures become a GIF with one palette, in which a picture that stays lasts longer."""

from collections.abc import Iterable
from io import BytesIO

import numpy as np
from PIL import Image

SAMPLES = 24
"""Pictures from which the colours are taken."""
APART = 12
"""Colours whose three numbers differ by less are one colour."""


def gif(pictures: Iterable[tuple[bytes, int]]) -> bytes:
    """A film that repeats, of (PNG, milliseconds) in their order; smaller ones get a ground."""
    shots: list[tuple[Image.Image, int]] = []
    last = b""
    for data, lasting in pictures:
        if data == last:
            shots[-1] = shots[-1][0], shots[-1][1] + lasting
        else:
            shots.append((Image.open(BytesIO(data)).convert("RGB"), lasting))
            last = data
    size = max(image.width for image, _ in shots), max(image.height for image, _ in shots)
    sheets = []
    for image, _ in shots:
        sheets.append(Image.new("RGB", size, image.getpixel((0, 0))))
        sheets[-1].paste(image, (0, 0))
    palette = _palette(sheets)
    first, *rest = [sheet.quantize(palette=palette, dither=Image.Dither.NONE) for sheet in sheets]
    times, out = [time for _, time in shots], BytesIO()
    first.save(out, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=True)
    return out.getvalue()


def _palette(sheets: list[Image.Image]) -> Image.Image:
    """One for all: a colour that comes late is in it, and none changes from picture to picture.

    The most frequent colours are in it as they are, not as the means of several: white is white.
    """
    chosen = sheets[:: -(-len(sheets) // SAMPLES)] + sheets[-1:]
    width, height = chosen[0].width // 3, chosen[0].height // 3
    colors = Image.new("RGB", (width, len(chosen) * height))
    for index, sheet in enumerate(chosen):
        small = sheet.resize((width, height), Image.Resampling.NEAREST)
        colors.paste(small, (0, index * height))
    packed = np.asarray(colors).reshape(-1, 3) @ np.array([1 << 16, 1 << 8, 1])
    values, times = np.unique(packed, return_counts=True)
    entries = np.empty((0, 3), dtype=np.int64)
    for value in values[np.argsort(-times, kind="stable")]:
        color = np.array([value >> 16, value >> 8 & 255, value & 255])
        if (abs(entries - color).max(axis=1, initial=0) >= APART).all():
            entries = np.vstack([entries, color])
        if len(entries) == 255:  # one is left for what has not changed
            break
    found = Image.new("P", (1, 1))
    found.putpalette(np.resize(entries, (256, 3)).astype(np.uint8).tobytes())
    return found
