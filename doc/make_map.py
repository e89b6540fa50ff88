"""Draw the map of attacks, doc/_static/attack_map.svg: what you have, how much time, what to run.

    python doc/make_map.py

Each end is a link to a page of the guide. The map is put into the page as it is, so that the links
work and the colors follow the theme.
"""

from html import escape
from pathlib import Path

MAP = Path(__file__).parent / "_static" / "attack_map.svg"
BOX = {"width": 196, "height": 54}
COLUMNS = (8, 262, 516)
STEP = 66
# What you have; then, for each time or question, what to run and where it is described.
BRANCHES = [
    (
        "A model that can be\ntrained again",
        [
            ("an hour: 16 to 64\nshadow models", "StackedAttack, LiRA,\nRMIA", "how_many"),
            ("minutes: 4 to 8\nshadow models", "StackedAttack, RMIA", "how_many"),
            ("linear or logistic\nregression", "AnalyticLiRA", "how_attacks_work"),
        ],
    ),
    (
        "A model that cannot be\ntrained again",
        [
            ("100 or more known\nnon-members", "QuantileAttack", "how_many"),
            ("nothing else", "ThresholdAttack", "signals"),
        ],
    ),
    (
        "Predictions in a file",
        [
            ("probabilities or\nvalues", "skmia audit --answers", "command_line"),
            ("labels only", "attacks on labels", "labels_alone"),
        ],
    ),
    (
        "The model file",
        [
            ("seconds", "skmia inspect", "model_files"),
            ("minutes", "ReleasedModelAttack", "model_files"),
            ("gradients, layers", "white-box attacks", "white_box"),
        ],
    ),
    ("A synthetic table", [("minutes", "skmia table", "synthetic_tables")]),
    (
        "A language model",
        [("shadow models or a\nreference", "LiRA, signals of tokens", "language_models")],
    ),
    ("A claimed epsilon", [("one training run", "OneRunAudit", "epsilon_audits")]),
]
STYLE = (
    ".box{fill:var(--pst-color-surface,#f4f6f8);stroke:var(--pst-color-border,#c9ced6)}"
    ".end{fill:none;stroke:var(--pst-color-primary,#1d4f91);stroke-width:1.6}"
    ".line{fill:none;stroke:var(--pst-color-text-muted,#666);stroke-width:1.2}"
    "text{font:14px system-ui,'DejaVu Sans',sans-serif;fill:var(--pst-color-text-base,#14181f)}"
    ".head{font-weight:600}a text{fill:var(--pst-color-link,#1d4f91);text-decoration:underline}"
)


def draw_text(words, x, y, kind=""):
    """Lines of text in the middle of a box."""
    lines = words.split("\n")
    first = y + BOX["height"] / 2 + 5 - 9 * (len(lines) - 1)
    center = x + BOX["width"] / 2
    return "".join(
        f'<text class="{kind}" x="{center}" y="{first + 18 * k}" text-anchor="middle">'
        f"{escape(line)}</text>"
        for k, line in enumerate(lines)
    )


def draw_box(words, column, y, kind="box"):
    """A box with its text."""
    x = COLUMNS[column]
    size = f'width="{BOX["width"]}" height="{BOX["height"]}"'
    return f'<rect class="{kind}" x="{x}" y="{y}" {size} rx="8"/>{draw_text(words, x, y)}'


def draw_line(column, start, end):
    """A curve from the right of a box to the left of one in the next column."""
    x, to = COLUMNS[column] + BOX["width"], COLUMNS[column + 1]
    top, bottom = start + BOX["height"] / 2, end + BOX["height"] / 2
    middle = (x + to) / 2
    return f'<path class="line" d="M{x} {top}C{middle} {top} {middle} {bottom} {to} {bottom}"/>'


def draw():
    """The map as SVG."""
    heads = ("What do you have?", "How much time?", "Run")
    drawn = [
        f'<text class="head" x="{x + BOX["width"] / 2}" y="20" text-anchor="middle">{head}</text>'
        for x, head in zip(COLUMNS, heads, strict=True)
    ]
    y = 36
    for have, ends in BRANCHES:
        middle = y + STEP * (len(ends) - 1) / 2
        drawn.append(draw_box(have, 0, middle))
        for time, run, page in ends:
            drawn += [draw_line(0, middle, y), draw_box(time, 1, y), draw_line(1, y, y)]
            drawn.append(f'<a href="{page}.html">{draw_box(run, 2, y, "end")}</a>')
            y += STEP
        y += 12
    width = COLUMNS[-1] + BOX["width"] + 8
    return (
        f'<div class="attack-map"><svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {y}" width="{width}" '
        f'role="img" aria-label="Map of attacks, by what you have">'
        f"<style>{STYLE}</style>{''.join(drawn)}</svg></div>\n"
    )


if __name__ == "__main__":
    MAP.write_text(draw(), encoding="utf-8")
