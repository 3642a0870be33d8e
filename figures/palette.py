"""The neutral colours, their dark counterparts, and the settings that fix a figure's bytes."""

from typing import Any

INK = "#1A1A1A"
MUTED = "#595959"
PAPER = "#FFFFFF"
HELD = "#D9D9D9"
PANEL = "#F1F1EF"
MARK = "#B3005E"  # what to look at: the frames and arrows of a step, as in the player
# On a dark page the neutral colours change, and the palette stays.
DARK = {
    INK: "#E8E6E3", MUTED: "#A8A8A8", PAPER: "#16181C", HELD: "#3A3F47", PANEL: "#22262C",
    MARK: "#FF8AC2",
}  # fmt: skip

# What a reader's own matplotlibrc must not change.
RC: Any = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "hatch.linewidth": 0.6,
    "path.simplify": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "pagesim",
    "text.usetex": False,
}
