"""The page of an audit: one HTML file that needs no other file."""

import math

import pandas as pd

from .._core.pages import render_page
from .._core.visible import visible
from ..metrics import MIN_FALSE_POSITIVES, precision_at_prior, resolvable_fpr
from ._evidence import LEAK, NONE, REVERSED, SHIFT
from ._file_verdict import RELEASE_NOT, describe_candidates
from ._measure import COLUMNS, NOT_RESOLVABLE, OK, OVERALL
from ._person_level import describe_people
from ._pool_size import describe_growth
from ._stand_in import CHOSEN
from ._text import (
    column_name,
    describe_disparity,
    describe_performance,
    describe_reading,
    describe_sources,
    format_cell,
    name_way,
)
from ._verdict import get_best_at_lowest_rate
from .checks._base import ERROR, WARNING

_REPEAT = (
    "After a change, audit the model again and run "
    "skmia compare before/audit.json after/audit.json."
)

_ADVICE = {
    LEAK: [
        "Decide whether membership is confidential. If it is public, or reveals nothing about a "
        "person, this leakage may be acceptable.",
        "Reduce overfitting: stronger regularization, fewer epochs, larger leaves, or more data. "
        "make_leakage_scorer lets a search trade accuracy against leakage.",
        "Inspect the most exposed records. Correct or remove errors, duplicates and outliers, and "
        "audit again: other records may then become the most exposed.",
        "Train with a defense (SoftLabelDefense, SELENADefense) and audit it with shadow models "
        "that use the same defense.",
        "Rounding probabilities does not help. Returning only labels restricts attacks to what "
        "labels reveal, at least the accuracy gap.",
        "Only differential privacy bounds every attack: train with DPSGDClassifier.",
        _REPEAT,
    ],
    NONE: [
        "Archive this report with the model. It applies to these attacks, records and training "
        "run.",
        "Audit again when the model is retrained, or trained on other data.",
        "More shadow models, more records, or attacks that read gradients and layers may find what "
        "these did not.",
    ],
    SHIFT: [
        "Use members and non-members from the same population, ideally a random split made before "
        "training, and audit again.",
        "Remove columns that reveal the split, such as dates, row numbers or sources, if the model "
        "does not use them.",
    ],
    REVERSED: [
        "Check the coding of membership: 1 is for the records that the model was trained on.",
        "If the coding is right, check the sign of the scores of your own attacks: higher has to "
        "mean more likely a member.",
    ],
}

_REWRITE = (
    "Export members and non-members in one way, with the same decimals, spelling and missing "
    "values, and audit again."
)

_FAILED_CHECK = (
    "The message of the failed check says what went wrong. Remove the cause and audit again: the "
    "verdict depends on this check."
)

# By the check that kept the attacks from finding anything, the first one first.
_BLINDNESS = {
    "labels": "Check the coding of the labels: the labels of the records have to mean what those "
    "of the training set meant.",
    "duplicates": "Remove duplicates across members and non-members, or give them a common "
    "group_by, and audit again.",
    "positive control": "Use more records: at least several hundred members and non-members, and "
    "10,000 non-members to measure the TPR at 0.1% FPR.",
    "person level": "Treat it as a leak of people: keep fewer records of each person in the "
    "training set, or train with a guarantee for people instead of records.",
    "small groups": "Merge the small groups with others, or audit with more of their records.",
    "shadow models": "Check that membership matches the records the model was trained on, and that "
    "the shadow models are trained the same way.",
}


def advise(document):
    """Recommend what to do next, given the result of an audit."""
    warned = [check["name"] for check in document["checks"] if check["status"] == WARNING]
    causes = [text for name, text in _BLINDNESS.items() if name in warned]
    if any(check["status"] == ERROR for check in document["checks"]):
        causes.insert(0, _FAILED_CHECK)
    advice = list(_ADVICE.get(document["evidence"], causes or [_BLINDNESS["positive control"]]))
    if document["evidence"] == SHIFT and "formats" in warned:
        advice.insert(0, _REWRITE)
    performance = document["performance"]
    gap = performance["gap"]
    if document["evidence"] == LEAK and performance["metric"] == "accuracy" and (gap or 0) < 0.02:
        advice[1] = (
            "Accuracy is similar on members and non-members; the leakage is in the model's "
            "confidence. " + advice[1]
        )
    return advice


# Smallest span of a scale; equal numbers would have none.
_NARROWEST = 1e-3


class Scale:
    """Map numbers from ``low`` to ``high`` to positions from ``start`` to ``end``."""

    # Both ends are moved outwards to the next tick.

    def __init__(self, low, high, start, end, n_ticks=5):
        if high - low < _NARROWEST:
            low, high = low - _NARROWEST / 2, high + _NARROWEST / 2
        self.step = _round_step((high - low) / n_ticks)
        self._low = math.floor(low / self.step + 1e-9) * self.step
        self._high = math.ceil(high / self.step - 1e-9) * self.step
        self._start, self._end = start, end

    def __call__(self, number):
        share = (number - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self):
        """Return the labels and positions of the ticks."""
        count = round((self._high - self._low) / self.step)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        numbers = [self._low + k * self.step for k in range(count + 1)]
        return [(f"{number:.{digits}f}", self(number)) for number in numbers]


def _round_step(step):
    power = 10.0 ** math.floor(math.log10(max(step, 1e-6)))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9))


_WIDTH, _LEFT, _RIGHT = 640, 190, 16
_ROW, _TOP, _BOTTOM = 26, 8, 44
_LONGEST_NAME = 24


def draw_groups(rows):
    """Compute the drawing of a dot and an interval for each group."""
    # -> drawing: sizes, ticks and positions in units of the drawing; None for fewer than two groups
    if len(rows) < 2:
        return None
    low = min(0.5, *(row["low"] for row in rows))
    high = max(0.5, *(row["high"] for row in rows))
    scale = Scale(low, high, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    return {
        "width": _WIDTH,
        "height": bottom + _BOTTOM,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": bottom,
        "ticks": scale.ticks(),
        "chance": scale(0.5),
        "dots": [
            {
                "name": _shorten(visible(row["group"])),
                "y": _TOP + _ROW * (place + 0.5),
                "x": scale(row["estimate"]),
                "low": scale(row["low"]),
                "high": scale(row["high"]),
            }
            for place, row in enumerate(rows)
        ],
    }


def _shorten(name):
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


_WIDTH_POWER_FIGURE, _HEIGHT = 640, 300
_LEFT_POWER_FIGURE, _RIGHT_POWER_FIGURE, _TOP_POWER_FIGURE, _BOTTOM_POWER_FIGURE = 64, 16, 16, 52


def draw_power(power, auc):
    """Compute the drawing of the curve."""
    # -> drawing: sizes, ticks and paths in units of the drawing; None for fewer than two points
    if len(power) < 2:
        return None
    spread = [row["sd"] or 0.0 for row in power]
    lows = [row["auc"] - sd for row, sd in zip(power, spread)]
    highs = [row["auc"] + sd for row, sd in zip(power, spread)]
    highs = [min(high, 1.0) for high in highs]
    own = [] if math.isnan(auc) else [auc]
    y = Scale(min(own + lows), max(own + highs), _HEIGHT - _BOTTOM_POWER_FIGURE, _TOP_POWER_FIGURE)
    sizes = [math.log2(row["n_shadows"]) for row in power]
    span = max(sizes) - min(sizes)
    xs = [
        _LEFT_POWER_FIGURE
        + 12
        + (_WIDTH_POWER_FIGURE - _LEFT_POWER_FIGURE - _RIGHT_POWER_FIGURE - 24)
        * (s - min(sizes))
        / span
        for s in sizes
    ]
    return {
        "width": _WIDTH_POWER_FIGURE,
        "height": _HEIGHT,
        "left": _LEFT_POWER_FIGURE,
        "right": _WIDTH_POWER_FIGURE - _RIGHT_POWER_FIGURE,
        "top": _TOP_POWER_FIGURE,
        "bottom": _HEIGHT - _BOTTOM_POWER_FIGURE,
        "x_ticks": [(row["n_shadows"], x) for row, x in zip(power, xs)],
        "y_ticks": y.ticks(),
        "victim": y(auc) if own else None,
        "line": _join(xs, [y(row["auc"]) for row in power]),
        "band": _join(xs + xs[::-1], [y(high) for high in highs] + [y(low) for low in lows[::-1]]),
    }


def _join(xs, ys):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))


# Colors are set by the style of the page, which has a light and a dark form; dashes distinguish the
# curves in print.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")
_WIDTH_ROC_FIGURE, _HEIGHT_ROC_FIGURE = 640, 460
_LEFT_ROC_FIGURE, _RIGHT_ROC_FIGURE, _TOP_ROC_FIGURE, _BOTTOM_ROC_FIGURE = 64, 16, 16, 52


class _Axes:
    """Two logarithmic axes from the same power of ten to 1."""

    def __init__(self, smallest):
        self.decades = max(1, math.ceil(-math.log10(smallest) - 1e-9))

    def _scale(self, rate):
        return 1 + max(math.log10(max(rate, 1e-300)), -self.decades) / self.decades

    def x(self, rate):
        return _LEFT_ROC_FIGURE + self._scale(rate) * (
            _WIDTH_ROC_FIGURE - _LEFT_ROC_FIGURE - _RIGHT_ROC_FIGURE
        )

    def y(self, rate):
        return (
            _HEIGHT_ROC_FIGURE
            - _BOTTOM_ROC_FIGURE
            - self._scale(rate) * (_HEIGHT_ROC_FIGURE - _TOP_ROC_FIGURE - _BOTTOM_ROC_FIGURE)
        )

    def points(self, fprs, tprs):
        return " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(fprs, tprs))


def draw_roc(curves, resolvable):
    """Compute the drawing of the curves."""
    # -> drawing: sizes, ticks and paths in units of the drawing; None without curves
    if not curves:
        return None
    smallest = min(rate for curve in curves for rate in curve["fpr"] if rate > 0)
    axes = _Axes(smallest)
    rates = [10.0**-power for power in range(axes.decades + 1)]
    return {
        "width": _WIDTH_ROC_FIGURE,
        "height": _HEIGHT_ROC_FIGURE,
        "left": _LEFT_ROC_FIGURE,
        "right": _WIDTH_ROC_FIGURE - _RIGHT_ROC_FIGURE,
        "top": _TOP_ROC_FIGURE,
        "bottom": _HEIGHT_ROC_FIGURE - _BOTTOM_ROC_FIGURE,
        "ticks": [(f"{100 * rate:g}%", axes.x(rate), axes.y(rate)) for rate in rates],
        "unresolved": axes.x(min(1.0, resolvable)),
        "chance": axes.points([rates[-1], 1], [rates[-1], 1]),
        "lines": [
            {
                "name": curve["attack"],
                "number": number % 6,
                "dash": _DASHES[number % len(_DASHES)],
                "points": axes.points(curve["fpr"], curve["tpr"]),
                "band": axes.points(curve["fpr"], curve["high"])
                + " "
                + axes.points(curve["fpr"][::-1], curve["low"][::-1]),
            }
            for number, curve in enumerate(curves)
        ],
    }


def render(document, title="Membership-inference audit", values=None):
    """Render the page of an audit."""
    return render_page(
        "page.html.j2",
        f"{__package__}._html",
        title=title,
        audit=document,
        values=_read_values(document, values),
        **_describe(document),
    )


def _read_values(document, values):
    """Return the names of the columns and, for each exposed record, its values as text."""
    exposed, n_records = document["exposed"], document["data"]["n_records"]
    if values is None:
        return [], [[]] * len(exposed)
    if len(values) != n_records:
        raise ValueError(f"values needs a row for each of {n_records} records; got {len(values)}.")
    rows = pd.DataFrame(values).iloc[[row["position"] for row in exposed]]
    return list(map(str, rows.columns)), rows.astype(str).to_numpy().tolist()


def _describe(document):
    frame = pd.DataFrame(document["results"], columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(COLUMNS[4:11], float))  # also if all of them are None
    overall = frame[frame["scope"] == OVERALL]
    curves, power = document["curves"], document["power"]
    headline, _, verdict = document["verdict"].partition(". ")
    return {
        "headline": headline,
        "verdict": verdict,
        "overall": _make_table(overall, "attack"),
        "file": document["file"] and _describe_file(document["file"]),
        "groups": _describe_groups(document, frame),
        "advice": advise(document),
        "same_recipe": document["settings"]["shadow_estimator"] == document["victim"],
        "stand_in": _name_stand_in(document),
        "performance": describe_performance(document["performance"]),
        "roc": draw_roc(curves, resolvable_fpr(document["data"]["n_nonmembers"])),
        "power": power and draw_power(power["numbers"], _get_auc(overall, power["attack"])),
        "growth": document["growth"] and describe_growth(document["growth"]),
        "exposed": document["exposed"],
        "people": document["person_level"] and describe_people(document["person_level"], overall),
        "prior": _describe_prior(overall),
        "fewest_false": MIN_FALSE_POSITIVES,
        "level": f"{100 * document['settings']['confidence_level']:g}%",
    }


def _name_stand_in(document):
    """The estimator chosen for the shadow models, without its encoding; None if none was."""
    reference = document["reference"]
    if reference is None or reference["recipe"] != CHOSEN:
        return None
    return reference["estimator"]


# Share of members for which the page computes the precision.
_PRIOR = 0.01


def _describe_prior(overall):
    """The precision of the strongest attack if members are rare, at the lowest rate above zero."""
    row = get_best_at_lowest_rate(overall)
    if row is None:
        return None
    tpr, fpr = float(row["estimate"]), float(row["fpr"])
    wrong = 1 - float(precision_at_prior(tpr, fpr, _PRIOR))
    return (
        f"If 1 in {round(1 / _PRIOR)} records is a member, {100 * wrong:.0f}% of the records that "
        f"{row['attack']} flags at a TPR of {100 * tpr:.3g}% and an FPR of {100 * fpr:.3g}% are "
        "non-members."
    )


def _describe_file(file):
    """What the page shows of the file of the model."""
    frame = pd.DataFrame(file["results"], columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(COLUMNS[4:11], float))
    headline, _, verdict = file["verdict"].partition(". ")
    is_weak = file["evidence"] == LEAK and headline != RELEASE_NOT
    overall = frame[frame["scope"] == OVERALL]
    return {
        "other_way": name_way(file),
        "headline": headline,
        "verdict": verdict,
        "evidence": "weak" if is_weak else file["evidence"],
        "overall": None if overall.empty else _make_table(overall, "attack"),
        "candidates": describe_candidates(file),
        "sources": describe_sources(file),
        "lists": [
            ("What was read of it", describe_reading(file)),
            ("What it stores of its training rows", file["stores"]),
            ("What would change it", file["changes"]),
            ("Notes", file["notes"]),
        ],
    }


def _get_auc(overall, attack):
    rows = overall[(overall["attack"] == attack) & (overall["metric"] == "auc")]
    return float(rows["estimate"].iloc[0])  # NaN where there were too few records


def _describe_groups(document, frame):
    """Content of the tab of each field and of the classes."""
    if not document["curves"]:
        return []
    best = document["curves"][0]["attack"]
    disparity = document["disparity"] or {"scopes": []}
    tested = [test["scope"] for test in disparity["scopes"]]
    scopes = []
    for scope, rows in frame[frame["scope"] != OVERALL].groupby("scope", sort=False):
        own = rows[rows["attack"] == best]
        aucs = own[(own["metric"] == "auc") & (own["status"] == OK)]
        text = describe_disparity(disparity, tested.index(scope)) if scope in tested else None
        scopes.append(
            {
                "scope": scope,
                "attack": best,
                "disparity": text,
                "figure": draw_groups(aucs.to_dict("records")),
                "table": _make_table(own, "group"),
                "others": [
                    (attack, _make_table(part, "group"))
                    for attack, part in rows.groupby("attack", sort=False)
                    if attack != best
                ],
            }
        )
    return scopes


def _make_table(part, by):
    """One row per value of ``by``: its name, its counts, and cells with the keys to sort by."""
    columns = part[["metric", "max_fpr"]].drop_duplicates().itertuples(index=False)
    rows = []
    for name, cells in part.groupby(by, sort=False):
        counts = [int(cells.iloc[0][side]) for side in ("n_members", "n_nonmembers")]
        made = [_make_cell(cell) for cell in cells.to_dict("records")]
        rows.append({"name": name, "counts": counts, "cells": made})
    headings = [column_name(metric, max_fpr) for metric, max_fpr in columns]
    unresolved = bool((part["status"] == NOT_RESOLVABLE).any())
    return {"by": by, "headings": headings, "rows": rows, "has_unresolvable": unresolved}


def _make_cell(cell):
    return {
        "text": format_cell(cell),
        "key": cell["estimate"] if cell["status"] == OK else -2,
        "fpr": _describe_fpr(cell),
    }


def _describe_fpr(cell):
    if cell["metric"] != "tpr" or cell["status"] != OK:
        return None
    low, high = 100 * cell["fpr_low"], 100 * cell["fpr_high"]
    # Where the line is too long, it breaks in front of the interval.
    return f"realized FPR {100 * cell['fpr']:.3g}% [{low:.3g},\N{NO-BREAK SPACE}{high:.3g}]"
