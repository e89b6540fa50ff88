"""Colors of the levels in a terminal, readable on light and on dark ones."""

import os
import re

from .._core.levels import BARS
from .._core.text import ASCII

# By the number of bars, codes of a terminal of 256 colors, and of one of 16. Of the palette of 256,
# each of these has a contrast of 4.5 to white and to black; of the 16 colors of xterm those with
# the largest smaller contrast are taken, and letters without a color where nothing was found.
COLORS = {
    256: {3: "1;38;5;163", 2: "1;38;5;131", 1: "1;38;5;63", 0: "1;38;5;29"},
    16: {3: "35", 2: "91", 1: "94", 0: "1"},
}
_MARKS = {bars: filled for filled, bars in BARS.items()}
_MARKS |= {bars.translate(ASCII): filled for filled, bars in BARS.items()}
# A line of a level: its bars, which say without a color what the color does, and its words.
_MARK = f"({'|'.join(map(re.escape, _MARKS))})"
# Where two audits are compared, the second one counts, as on the page.
_LEVEL = re.compile(rf"^  (?:{_MARK} -> )?{_MARK}  \S.*?(?=   |$)", re.M)


def color_levels(text, environment=os.environ):
    """Return the color the lines of levels for the terminal of an environment."""
    codes = COLORS[_count_colors(environment)]
    return _LEVEL.sub(lambda found: _color(found, codes), text)


def _color(found, codes):
    return f"\x1b[{codes.get(_MARKS[found[2]], '1')}m{found[0]}\x1b[0m"


def _count_colors(environment):
    """Return the number of colors that a terminal is known to have."""
    term = environment.get("TERM", "")
    many = "256" in term or "direct" in term or "COLORTERM" in environment
    return 256 if many or "WT_SESSION" in environment else 16
