"""Inspection of a fitted model as a file."""

from .._core.asking import unwrap
from .._core.records import Records
from ..victims import read_state
from ..victims.offers import get_access
from ._candidates import search_candidates
from ._families import (
    BY_KIND,
    CHANGES_OF_KIND,
    LEVEL_OF_KIND,
    LEVELS,
    NEEDED_KINDS,
    STRIPPED,
    get_family,
)
from ._reconstruct import count_values, list_values
from ._result import Finding, ModelInspection
from ._rows import count_training_rows
from ._stored import (
    check_model,
    generalize,
    get_strongest,
    is_fitted,
    list_owned_arrays,
    make_frame,
    name_place,
)

# Attacks by what they need of a model file, in the terms of their needs.
_READERS = {
    "nodes": "NodeEquationsAttack",
    "thresholds": "SplitThresholdAttack",
    "optimum": "StationarityAttack",
    "sums": "MomentsAttack",
    "gradients": "WhiteBoxAttack",
}


def inspect_model(model: object, records: Records | None = None) -> ModelInspection:
    """List what a fitted model stores of its training rows, with advice.

    A model that is shared as a file reveals more than a model behind a service. The inspection
    reads the state that a file of the model would hold, says what each part of it reveals and
    what would change it, and searches candidate records in it if there are any. It makes no query
    for a prediction and trains nothing.

    Parameters
    ----------
    model : fitted estimator
        Classifier, regressor, transformer, Pipeline or other estimator, or a
        :class:`~sklearn.frozen.FrozenEstimator` of one.
    records : Records of n records, default=None
        Candidates that may have been training rows, with X as the model takes it.
        :class:`~skmia.attacks.StoredValuesAttack` looks for their rows and values, and
        :class:`~skmia.attacks.NodeEquationsAttack`, :class:`~skmia.attacks.SplitThresholdAttack`
        and :class:`~skmia.attacks.StationarityAttack` are fitted on them if they read the model.

    Returns
    -------
    inspection : ModelInspection
        ``print(inspection)`` is a summary, ``inspection.to_frame()`` lists what is stored.

    Raises
    ------
    TypeError
        If the model is a function or service, whose file is not at hand.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the records cannot be searched in it.

    See Also
    --------
    reconstruct_values : Rebuilds values of the training data, without candidates.
    skmia.victims.read_state : Lists all stored arrays, each on its own.
    skmia.attacks.StoredValuesAttack : Says of each record where it was found.
    skmia.attacks.ReleasedModelAttack : Scores each record by everything that the file offers.
    skmia.attacks.NodeEquationsAttack : Scores each record by what the nodes of trees count.

    Notes
    -----
    Stored data are recognized by the names of attributes and the kinds of estimators. An estimator
    of another package is described by the names of its attributes alone, and training data that it
    keeps under an unusual name are listed as ``"other"``; candidates are looked for there as well.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.inspection import inspect_model
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> inspection = inspect_model(KNeighborsClassifier().fit(X, X[:, 0] > 0))
    >>> inspection.level, inspection.n_rows
    ('rows', 50)
    >>> print(inspection)
    Inspection of KNeighborsClassifier
    The file holds training rows.
    At least 50 training rows, as the file states.
    ...
    >>> inspection.to_frame()[["path", "kind", "shape"]].head(1)
         path  kind    shape
    0  _fit_X  rows  (50, 3)
    """
    model = unwrap(model)
    check_model(model)
    state = read_state(model)
    owned = list_owned_arrays(state)
    findings = _list_findings(owned, state.estimators)
    return ModelInspection(
        model=_describe(model),
        n_rows=count_training_rows(owned, state.estimators),
        level=get_strongest({one.level for one in findings}),
        findings=findings,
        stored=make_frame(owned),
        rebuilt=count_values(list_values(model, state)),
        unread=state.unread,
        candidates=None if records is None else search_candidates(model, records),
    )


def _describe(model):
    steps = getattr(model, "steps", None)
    name = type(model).__name__
    if not isinstance(steps, list):
        return name
    return f"{name}({', '.join(_describe(step[1]) for step in steps)})"


def _list_findings(owned, estimators):
    """Findings on the estimators that own arrays, alike ones together."""
    kinds = {}
    for one in owned:
        if one.owner is not None:
            kinds.setdefault(one.owner.path, set()).add(one.kind)
    groups = {}
    for one in estimators:
        tells = kinds.get(one.path, set()) & BY_KIND.keys()
        family = _choose_family(one.estimator, tells)
        if one.path in kinds and (family is not None or tells) and is_fitted(one.estimator):
            key = generalize(one.path), type(one.estimator).__name__
            groups.setdefault(key, []).append((one, tells))
    findings = [
        _make_finding(
            name_place(path, [stored.path for stored, _ in some]),
            [stored.estimator for stored, _ in some],
            set().union(*(tells for _, tells in some)),
        )
        for (path, _), some in groups.items()
    ]
    return tuple(sorted(findings, key=lambda one: LEVELS.index(one.level)))


def _choose_family(estimator, kinds):
    """The family of an estimator, unless nothing is stored of what the family is known for."""
    family = get_family(estimator)
    needed = None if family is None else NEEDED_KINDS.get(family.level)
    return family if needed is None or kinds & needed else None


def _make_finding(path, estimators, kinds):
    family, name = _choose_family(estimators[0], kinds), type(estimators[0]).__name__
    if family is None:
        levels, stores, changes = set(), "", ()
        told = [kind for kind in BY_KIND if kind in kinds]
    else:
        levels, changes = {family.level}, family.changes
        is_stripped = family.has_nodes and not kinds & {"counts", "covers"}
        stores = STRIPPED if is_stripped else family.stores
        # What depends on the fit, and is not in the sentence on the family.
        told = [kind for kind in ("targets", "per-record") if kind in kinds]
        told = [] if family.level == "rows" else told
    stores = " ".join([stores, *(BY_KIND[kind] for kind in told)]).strip()
    levels |= {LEVEL_OF_KIND[kind] for kind in told}
    changes = (*changes, *(change for kind in told for change in CHANGES_OF_KIND.get(kind, ())))
    attacks = _list_attacks(estimators[0], kinds)
    return Finding(path, name, len(estimators), get_strongest(levels), stores, attacks, changes)


def _list_attacks(estimator, kinds):
    """The attacks that read an estimator of these kinds of arrays, by what they need of it."""
    access, family = get_access(estimator)[0], get_family(estimator)
    access -= {"thresholds"} if family is not None and family.is_random else set()
    found = [name for word, name in _READERS.items() if word in access]
    stored = ["StoredValuesAttack"] if kinds & {"rows", "values", "targets", "edges"} else []
    return (*found, *stored)
