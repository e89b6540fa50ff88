"""Whether a simple change of the answers, or of the columns, makes the model right."""

import shlex

import numpy as np
import pandas as pd

from ..._core.containers import in_memory, is_frame, take_rows
from ..._core.escaping import visible
from ..._core.text import tell_percent
from .._measure import CLASS_NAME
from ._assignment import describe_assignment, find_assignment, is_reversed
from ._base import AgreementQuestion
from ._skill import AnswerScores, Z, is_surely_below, measure_skill

# By how much the skill has to rise on members and on the others, of which so many are needed.
_CHANCE = 0.1  # a skill that is not surely above it
_LEAST_GAIN, _LEAST_GAIN_OF_OTHERS, _FEWEST_OTHERS = 0.3, 0.15, 20


# Of answers that are turned back from what they never were; larger ones have no squares.
_LARGEST = 1e100


class LabelsQuestion(AgreementQuestion):
    """Whether another assignment of the answers to the classes is better."""

    name = "labels"

    def ask(self, met, references):
        rows = np.flatnonzero(met.inside)
        if met.is_value:
            if not is_reversed(met.scores.values[rows], met.truth[rows], met.units[rows]):
                return None
            return self.stop(
                "Members with higher targets have lower predictions.",
                "Check the coding of the targets.",
            )
        answers, labels = met.scores.predicted[rows], met.truth[rows]
        found = find_assignment(
            labels,
            answers,
            len(met.outputs.classes),
            met.units[rows],
            np.random.default_rng(met.case.seeds["agreement"]),
        )
        if not found:
            return None
        text = describe_assignment(found, labels, answers, met.outputs.classes)
        labels = _name_map(found, met.outputs.classes, labels, met.records, rows)
        return self.stop(text, f"Check the coding of the labels (--label-map {labels}).")


def _name_map(moved, classes, labels, records, rows):
    """Return the option that gives each label of the table the class that the answers stand for."""
    words = records.fields.get(CLASS_NAME)
    pairs = []
    for place, name in enumerate(map(str, classes)):
        own = rows[labels == place]
        label = str(words[own[0]]) if words is not None and len(own) else name
        pairs.append(shlex.quote(f"{label}={classes[moved.get(place, place)]}"))
    return visible(" ".join(pairs))


class RepairsQuestion(AgreementQuestion):
    """Whether answers in another order, or other columns, are right."""

    name = "repairs"
    needs_clones = is_early = True

    def ask(self, met, references):
        own = met.fit().decision
        clones = [met.fit_of(one).decision for one in references]
        # Where clones learn nothing, as from columns without a scaler, chance takes their place.
        is_chance = all(one.low < _CHANCE for one in (own, *clones))
        if not is_chance and not all(is_surely_below(own, one) for one in clones):
            return None
        if not references and not is_chance:
            return None
        found = []
        for what, cure, sides in (
            *_list_orders(met),
            *_list_turned(met),
            *_list_scaled_columns(met),
        ):
            fits = [measure_skill(*side) for side in sides]
            if self._is_better(met, references, fits, len(sides[0][1]), len(sides[1][1])):
                found.append((fits[0].decision.value, what, cure, fits[0]))
        if not found:
            return None
        _, what, cure, fit = max(found, key=lambda one: one[0])
        return self.stop(f"{what}, {_tell_right(met, fit)}: {cure[0]}", cure[1])

    def _is_better(self, met, references, fits, n_members, n_others):
        own, others = met.fit().decision.value, met.fit(False).decision.value
        new = fits[0].decision.value
        gain = max(_LEAST_GAIN, Z * np.sqrt(2 / max(n_members, 1)))
        # A repair that only leads to chance is none, as for a model that is surely wrong by itself.
        # Scaling sharpens models that are regularized; clones of the model are so as well.
        is_known = bool(references) and all(one.is_own for one in references)
        share = 0.75 if is_known and met.model is not None else 0.5
        if new - own <= gain or own >= share * new or fits[0].decision.low <= 0:
            return False
        if n_others >= _FEWEST_OTHERS:
            if fits[1].decision.value - others <= _LEAST_GAIN_OF_OTHERS:
                return False
        return all(new > 0.5 * met.fit_of(one).decision.value for one in references)


def _tell_right(met, fit):
    if met.is_value:
        return f"the mean absolute error is {fit.plain:.3g}"
    return f"the model is right on {tell_percent(fit.plain)}"


def _take_sides(met, scores, rows):
    """Yield what the skill of answers for some rows is measured from, of members and of others."""
    for side in (True, False):
        some = met.inside[rows] == side
        own = rows[some]
        yield scores.take(some), met.truth[own], met.units[own]


_ORDER = (
    "the answers are not in the order of the rows.",
    "Give the answers in the order of the rows.",
)


def _list_orders(met):
    """Yield answers reversed, or moved by a row, as a whole or within each side."""
    n, rows = len(met.case.membership), np.arange(len(met.inside))
    places = np.arange(n)[met.rows]
    outputs, membership = met.case.request.outputs, np.asarray(met.case.membership, dtype=bool)
    sides = [np.flatnonzero(membership == side) for side in (True, False)]
    moves = {
        "in reverse order": lambda some: some[::-1],
        "moved down by one row": lambda some: np.roll(some, 1),
        "moved up by one row": lambda some: np.roll(some, -1),
    }
    for name, move in moves.items():
        within = np.empty(n, dtype=np.intp)
        for side in sides:
            within[side] = move(side)
        for order in (move(np.arange(n)), within):
            scores = met.read(outputs[order[places]])
            yield f"With the answers {name}", _ORDER, [*_take_sides(met, scores, rows)]


_UNITS = (
    "the answers are not in the units of the target.",
    "Give the answers in the units of the target.",
)


def _list_turned(met):
    """Yield the answers of a regressor turned back from what targets are often turned into."""
    if met.outputs.kind != "value":  # several targets may each be turned in their own way
        return
    values, own = met.scores.values, met.truth[met.inside]
    turned = {
        "exp(answer)": np.exp,
        "exp(answer) - 1": np.expm1,
        "10**answer": lambda some: 10.0**some,
        "the answers taken as standardized": lambda some: own.mean() + own.std() * some,
        "the answers taken as scaled to the range from 0 to 1": lambda some: (
            own.min() + np.ptp(own) * some
        ),
        "log(answer)": lambda some: np.log(np.where(some > 0, some, 1.0)),
    }
    rows = np.arange(len(values))
    for name, turn in turned.items():
        with np.errstate(all="ignore"):
            turned_back = np.clip(np.nan_to_num(turn(values)), -_LARGEST, _LARGEST)
        scores = AnswerScores(turned_back)
        yield f"With {name}", _UNITS, [*_take_sides(met, scores, rows)]


_SCALED = "it was trained behind a scaler.", "Give the pipeline, or the scaled table."
_REVERSED = (
    "it was trained with the columns in another order.",
    "Give the columns in the order of training.",
)


def _list_scaled_columns(met):
    """Columns that are scaled as scalers do, or reversed, for which the model is asked again."""
    if met.model is None:
        return
    rows = met.some
    X = in_memory(take_rows(met.records.X, rows))
    numbers = _take_number_columns(X)
    if numbers is None:
        return
    with np.errstate(all="ignore"):
        members = numbers[met.inside[rows]]
        center, spread = np.nanmean(members, axis=0), np.nanstd(members, axis=0)
        low, high = np.nanmin(members, axis=0), np.nanmax(members, axis=0)
        is_odd = (np.abs(np.nanmedian(members, axis=0)) > 3 * 1.0) | (spread < 0.2) | (spread > 5)
    ways = []
    if np.any(is_odd & np.isfinite(spread) & (spread > 0)):
        spread[~(spread > 0)] = 1.0
        ways.append(("With the columns standardized", _SCALED, (numbers - center) / spread))
        width = np.where(high > low, high - low, 1.0)
        name = "With the columns scaled to the range from 0 to 1"
        ways.append((name, _SCALED, (numbers - low) / width))
    if getattr(met.model, "feature_names_in_", None) is None and numbers.shape[1] > 1:
        ways.append(("With the columns in reverse order", _REVERSED, numbers[:, ::-1]))
    for name, cure, changed in ways:
        outputs = met.ask(_put_numbers(X, changed))
        if outputs is not None:
            yield name, cure, [*_take_sides(met, met.read(outputs), rows)]


def _take_number_columns(X):
    """Return the columns of numbers of a table, or None where it has none."""
    if is_frame(X):
        chosen = X.loc[:, _are_numbers(X)]
        return chosen.to_numpy(dtype=np.float64, na_value=np.nan) if chosen.shape[1] else None
    is_matrix = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"
    return X.astype(np.float64) if is_matrix and X.shape[1] else None


def _are_numbers(X):
    return [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in X.dtypes
    ]


def _put_numbers(X, numbers):
    """Return the table with other numbers in its columns of numbers."""
    if not is_frame(X):
        return numbers.astype(X.dtype if X.dtype.kind == "f" else np.float64)
    changed = X.copy()
    for place, j in enumerate(np.flatnonzero(_are_numbers(X))):
        changed[X.columns[j]] = numbers[:, place]
    return changed
