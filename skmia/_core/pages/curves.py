"""Drawings of pages: ROC curves on logarithmic axes."""

import math

# Size and margins of the drawing of curves, in pixels; both axes are logarithmic.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 390, 270, 44, 14, 24, 38
_LOWEST, _MOST_POINTS = -3, 48


def draw_roc(curves, point=None):
    """Compute the drawing of curves, each with rates, a level, a name and whether it is dashed.

    Return drawing: sizes, ticks and paths in pixels, with one decimal. Of each curve, what lies
    below its rate "from" cannot be measured and is not drawn.
    """
    ticks = [10.0**power for power in range(_LOWEST, 1)]
    lines = []
    for curve in curves:
        kept = [place for place, rate in enumerate(curve["fpr"]) if rate >= curve["from"]]
        if not kept:
            continue
        kept = kept[:: -(-len(kept) // _MOST_POINTS)] + kept[-1:]
        fpr, *rest = ([curve[name][k] for k in kept] for name in ("fpr", "tpr", "low", "high"))
        upper, lower = ([*zip(fpr, side)] for side in (rest[2], rest[1]))
        at = curve.get("at")
        label = _place_label(curve["name"], fpr, rest[0], at)
        lines.append(
            {name: curve[name] for name in ("name", "level", "dashed")}
            | {
                "points": _join_points(zip(fpr, rest[0])),
                "band": _join_points([*upper, *lower[::-1]]),
            }
            | {"point": at and _place_point(*at), "label": label}
        )
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "ticks": [(f"{100 * rate:g}%", *_place_point(rate, rate)) for rate in ticks],
        "mark": point and _place_point(point, 1)[0],
        "lines": _separate(lines),
        "guessing": _place_guessing([line["label"] for line in lines]),
    }


def _place_point(fpr, tpr):
    x, y = (1 - max(math.log10(max(rate, 1e-300)), _LOWEST) / _LOWEST for rate in (fpr, tpr))
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return round(_LEFT + x * across, 1), round(_HEIGHT - _BOTTOM - y * down, 1)


def _join_points(points):
    return " ".join(f"{x:g},{y:g}" for x, y in (_place_point(*point) for point in points))


_LETTER = 9  # width of a letter, at most about


def _place_label(name, fpr, tpr, at):
    """Return left of the start of the curve, where no other one is; or else below a point of it.

    Return label: the place of its end, or of its start, and which of these it is.
    """
    x, y = _place_point(fpr[0], tpr[0])
    if x - 9 - _LETTER * len(name) > _LEFT:
        return [round(x - 9, 1), min(y + 4, _HEIGHT - _BOTTOM - 4), "end"]
    x, y = _place_point(*(at or (fpr[0], tpr[0])))
    return [min(x + 8, _WIDTH - _RIGHT - 60), min(y + 18, _HEIGHT - _BOTTOM - 4), "start"]


def _place_guessing(labels):
    """Return a place below the diagonal that no label of a curve covers."""
    for fpr, tpr in ((0.12, 0.07), (0.012, 0.007)):
        x, y = _place_point(fpr, 1)[0], _place_point(1, tpr)[1]
        if all(abs(x - label[0]) > 70 or abs(y - label[1]) > 15 for label in labels):
            break
    return [x, y]


def _separate(lines):
    """Move labels that would cover each other apart."""
    for line, above in zip(lines[1:], lines):
        if abs(line["label"][1] - above["label"][1]) < 15:
            line["label"][1] = above["label"][1] + 15
    return lines
