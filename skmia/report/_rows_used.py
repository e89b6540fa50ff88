"""Rows that no model is trained on: its fit dropped them, or their weight is 0."""

import re
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from .._core.query import unwrap
from .._core.sklearn import list_fitted_estimators
from ..victims import read_training_weights

# Drawing with replacement leaves out a few rows of small ensembles, which are not worth a note.
_NEARLY_ALL = 0.95
# Rows of all estimators of an ensemble that are drawn again to be counted.
_MOST_DRAWN = 50_000_000

# Fitted attributes that hold the positions, or a mask, of the rows that a step has kept. Samplers
# of imbalanced-learn have sample_indices_, and RANSACRegressor has inlier_mask_.
_OF_ROWS = re.compile(r"(sample|row|inlier|kept|keep|used).*(indices|index|mask|positions)_$")

# Fitted attributes with the model inside of another one, which gives it all rows.
_INSIDE = ("best_estimator_", "estimator_", "regressor_", "classifier_")


class UsedRows(NamedTuple):
    """Which of the rows given to fit reached a model."""

    rows: np.ndarray | None  # positions; None for all rows
    dropper: object = None  # what left out the others
    receiver: object = None  # what was trained on these

    def within(self, outer):
        """Return these rows, given as positions within others."""
        if outer is None:
            return self
        return self._replace(rows=outer if self.rows is None else outer[self.rows])


def describe_dropped_rows(victim, n_members):
    """Say how many of the training rows reached a model, if its fit dropped some."""
    try:
        used = find_used_rows(unwrap(victim), n_members)
    except Exception:  # of whatever kind: the attributes are those of other packages and of users
        return []
    if used.rows is None or used.dropper is None:
        return []
    n_used, dropper = len(np.unique(used.rows)), type(used.dropper).__name__
    if n_used >= n_members:
        return []
    receiver = type(used.receiver).__name__
    reached = f"the {receiver} ({dropper})" if receiver != dropper else f"the models of {receiver}"
    return [
        f"{n_used:,} of {n_members:,} training rows reached {reached}; fit left out the others. "
        "Members among them were not trained on, which makes the numbers lower."
    ]


class WeightlessRecords(NamedTuple):
    """Records of weight 0, on which no model is trained, and that equal no other of their side."""

    kept: np.ndarray  # (n_kept,): places of the others
    fitted: np.ndarray  # (n_members,): places of members among them
    n_nonmembers: int
    sizes: tuple  # members and non-members of the table

    def describe(self):
        """Return a note on what was left out."""
        counts = zip((len(self.fitted), self.n_nonmembers), self.sizes, ("members", "non-members"))
        told = [f"{n:,} of {size:,} {name}" for n, size, name in counts if n]
        is_one = len(self.fitted) + self.n_nonmembers == 1
        have, were, them = ("has", "was", "it") if is_one else ("have", "were", "them")
        return [
            f"{' and '.join(told)} {have} a sample weight of 0 and {were} left out: no model is "
            f"trained on {them}."
        ]

    def count(self):
        """Return the numbers for the document of an audit."""
        return {
            "weightless_members": len(self.fitted),
            "weightless_nonmembers": self.n_nonmembers,
        }


def find_weightless(victim, records, membership, lost=slice(0)):
    """Find the records of weight 0, or None if there are none or the model takes no weights.

    lost: places of records that are left out anyway, and not counted again.
    """
    weights = read_training_weights(victim, records)
    if weights is None or weights.all():
        return None
    trained, prints = np.ones(len(records), dtype=bool), records.fingerprint
    for side, name in ((membership, "members"), (~membership, "non-members")):
        if not weights[side].any():
            raise ValueError(
                f"All {name} have a sample weight of 0, and no model is trained on such records. "
                "Give each record the weight that it has, or would have, in training."
            )
        trained[side] = np.isin(prints[side], prints[side & (weights > 0)])
    trained[lost] = True
    if trained.all():
        return None
    return WeightlessRecords(
        np.flatnonzero(trained),
        np.flatnonzero(~trained & membership),
        int((~trained & ~membership).sum()),
        (int(membership.sum()), int((~membership).sum())),
    )


def find_used_rows(model, n_rows):
    """Find the rows of the training set that a fitted model was trained on."""
    if getattr(model, "_trains_on_other_rows", False):  # the rows of a student are public
        return UsedRows(None)
    if isinstance(model, Pipeline) or hasattr(model, "steps"):
        return _follow_steps(model, n_rows)
    own = _read_kept_positions(model, n_rows)
    if own is not None:
        return UsedRows(own, model, getattr(model, "estimator_", model))
    if hasattr(model, "samplers_"):  # a forest of imbalanced-learn, with a sampler for each tree
        rows = [np.asarray(sampler.sample_indices_) for sampler in model.samplers_]
        return UsedRows(np.unique(np.concatenate(rows)), model.samplers_[0], model)
    if hasattr(model, "estimators_"):
        return _join_estimators(model, n_rows)
    inner = next((getattr(model, name) for name in _INSIDE if hasattr(model, name)), None)
    return UsedRows(None) if inner is None else find_used_rows(unwrap(inner), n_rows)


def _follow_steps(pipeline, n_rows):
    """Follow the rows through the steps of a pipeline."""
    used = UsedRows(None)
    for _, step in pipeline.steps[:-1]:
        kept = None if isinstance(step, str) or step is None else _read_kept_positions(step, n_rows)
        if kept is not None:
            used = UsedRows(kept, step).within(used.rows)
            n_rows = len(kept)
    last = unwrap(pipeline.steps[-1][1])
    inner = find_used_rows(last, n_rows)
    if inner.dropper is not None:
        return inner.within(used.rows)
    return used._replace(receiver=last)


def _read_kept_positions(step, n_rows):
    """Return the positions of the rows that a fitted step has kept, if it tells."""
    for name, value in vars(step).items():
        if not _OF_ROWS.search(name) or name.startswith("_"):
            continue
        value = np.asarray(value)
        if value.ndim != 1:
            continue
        if value.dtype == bool and len(value) == n_rows:
            return np.flatnonzero(value)
        if value.dtype.kind in "iu" and len(value) and 0 <= value.min() <= value.max() < n_rows:
            return value
    return None


def _join_estimators(model, n_rows):
    """Join the rows of the estimators of an ensemble, which may draw rows for each."""
    # Positions among other rows than these say nothing of them.
    if getattr(model, "_n_samples", n_rows) != n_rows:
        return UsedRows(None)
    estimators = [unwrap(one) for one in list_fitted_estimators(model)]
    if len(estimators) * n_rows > _MOST_DRAWN:
        return UsedRows(None)
    drawn = getattr(model, "estimators_samples_", None)
    is_used, dropper = np.zeros(n_rows, dtype=bool), None
    for k, estimator in enumerate(estimators):
        rows = np.arange(n_rows) if drawn is None else np.asarray(drawn[k])
        inner = find_used_rows(estimator, len(rows))
        is_used[rows if inner.rows is None else rows[inner.rows]] = True
        dropper = inner.dropper if dropper is None else dropper
    if dropper is None and is_used.mean() >= _NEARLY_ALL:
        return UsedRows(None)
    return UsedRows(np.flatnonzero(is_used), dropper or model, model)
