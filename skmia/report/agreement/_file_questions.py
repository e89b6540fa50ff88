"""Questions about what the model remembers of its columns, which take neither query nor clone."""

import numpy as np

from ..._core.containers import take_rows
from ..._core.escaping import visible
from ..._core.text import count_more, shorten, tell_percent
from ...victims import has_file, list_column_numbers, list_unknown_values
from .._words import join_names
from ._base import AgreementQuestion

# Members beyond these distances from the center of a scale, in its spreads, are of another table.
_MOST_AWAY, _MOST_WIDE = 3.0, 10.0

# Fewer thresholds, or fewer members, say little about the range of a column.
_FEWEST_THRESHOLDS, _FEWEST_MEMBERS = 5, 10

# Part of the range of the members by which a threshold may lie outside.
_SLACK = 0.25

_MOST_NAMED = 3
_CURE = "Give the columns as they were in training: the same units, order and scaling."


class OwnNumbersQuestion(AgreementQuestion):
    """Whether columns are where scalers, stored rows and thresholds of trees remember them."""

    name = "own numbers"
    is_of_file = True

    def ask(self, met, references):
        model = met.model
        if model is None or not has_file(model) or met.inside.sum() < _FEWEST_MEMBERS:
            return None
        X = take_rows(met.records.X, np.flatnonzero(met.inside))
        scales, splits = list_column_numbers(model, X)
        wrong = [(one, _describe_scale) for one in scales if _is_elsewhere(one)]
        wrong += [(one, _describe_splits) for one in splits if _are_outside(one)]
        if not wrong:
            return None
        # What comes later in a Pipeline only repeats it.
        first = min(one.n_passed for one, _ in wrong)
        found = {}
        for one, describe in wrong:
            if one.n_passed == first and one.column not in found:
                found[one.column] = describe(one)
        texts = list(found.values())[:_MOST_NAMED]
        text = "; ".join(texts)
        more = len(found) - len(texts)
        if more > 0:
            text += f"; the same holds for {count_more(more, 'column')}"
        return self.stop(f"{text[0].upper()}{text[1:]}.", _CURE)


def _is_elsewhere(one):
    if len(one.values) < _FEWEST_MEMBERS:
        return False
    low, middle, high = np.quantile(one.values, [0.25, 0.5, 0.75])
    return abs(middle - one.center) > _MOST_AWAY * one.spread or high - low > (
        _MOST_WIDE * one.spread
    )


def _describe_scale(one):
    low, high = one.center - 2 * one.spread, one.center + 2 * one.spread
    first, last = np.quantile(one.values, [0.05, 0.95])
    return (
        f"in column {visible(one.column)}, the {one.source} of the model has seen values from "
        f"about {low:.3g} to {high:.3g}, and most members have values from {first:.3g} to "
        f"{last:.3g}"
    )


def _are_outside(one):
    if len(one.thresholds) < _FEWEST_THRESHOLDS or len(one.values) < _FEWEST_MEMBERS:
        return False
    low, high = one.values.min(), one.values.max()
    # Models of more rows have seen values that are somewhat further out.
    slack = _SLACK * (high - low) + 1e-6 * max(abs(low), abs(high))
    outside = (one.thresholds < low - slack) | (one.thresholds > high + slack)
    return outside.mean() > 0.5


def _describe_splits(one):
    low, high = one.thresholds.min(), one.thresholds.max()
    return (
        f"in column {visible(one.column)}, the trees of the model split at values from {low:.3g} "
        f"to {high:.3g}, and the members have values from {one.values.min():.3g} to "
        f"{one.values.max():.3g}"
    )


# Share of the members' values that are unknown, from which a column is not that of the model.
_MOST_UNKNOWN, _MOST_UNKNOWN_TEXTS = 0.9, 0.5
_FEWEST_VALUES = 50
# A column with more distinct values than this share of the members is like an identifier.
_MOST_DISTINCT = 0.2


class KnownValuesQuestion(AgreementQuestion):
    """Whether encoders, stored categories and vectorizers know the values of the members."""

    name = "known values"
    is_of_file = True

    def ask(self, met, references):
        if met.model is None or not has_file(met.model):
            return None
        X = take_rows(met.records.X, np.flatnonzero(met.inside))
        columns = list_unknown_values(met.model, X)
        n_members = int(met.inside.sum())
        wrong = [one for one in columns if _is_foreign_column(one, n_members)]
        if wrong:
            text = "; ".join(map(_describe_unknown_values, wrong[:_MOST_NAMED]))
            cure = "Give the values as they were in training: the same spelling, spaces and types."
            return self.stop(f"{text[0].upper()}{text[1:]}.", cure)
        columns = [one for one in columns if not (_is_of_texts(one) or one.may_be_seen)]
        if not columns:
            return None
        most = max(columns, key=lambda one: one.n_unknown)
        if most.is_missing:
            return self.warn(_describe_missing(most))
        have = "members have values" if most.n_unknown > 1 else "member has a value"
        they = "these rows" if most.n_unknown > 1 else "this row"
        values = join_names(map(_show_value, most.unknown[:_MOST_NAMED]))
        return self.warn(
            f"{most.n_unknown:,} {have} in column {_show_value(most.column)} that the model has "
            f"never seen, such as {values}, so the model was not trained on {they} as given."
        )


def _describe_missing(one):
    have, they = ("members have", "these rows") if one.n_missing > 1 else ("member has", "this row")
    return (
        f"{one.n_missing:,} {have} no value in column {_show_value(one.column)}, where the model "
        f"has never seen a missing value, so it was not trained on {they} as given."
    )


def _is_of_texts(one):
    return "Vectorizer" in one.part


def _is_foreign_column(one, n_members):
    n_known = n_members - one.n_missing
    if n_known < _FEWEST_VALUES:
        return False
    if _is_of_texts(one):
        return one.share > _MOST_UNKNOWN_TEXTS
    return one.share > _MOST_UNKNOWN and one.n_distinct <= _MOST_DISTINCT * n_members


def _describe_unknown_values(one):
    examples = join_names(map(_show_value, one.unknown[:_MOST_NAMED]))
    known = join_names(map(_show_value, one.known[:_MOST_NAMED]))
    what = (
        "texts have no word that the model knows"
        if _is_of_texts(one)
        else ("values are unknown to the model")
    )
    return (
        f"in column {_show_value(one.column)}, {tell_percent(one.share)} of the members' {what}, "
        f"such as {examples}; it knows {known}"
    )


def _show_value(value):
    return shorten(visible(repr(getattr(value, "item", lambda: value)())), 40)
