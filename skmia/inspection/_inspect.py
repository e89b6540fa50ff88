"""Inspection of a fitted model as a file."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator

from .._core.asking import unwrap
from .._core.records import Records
from .._core.validation import check_records
from ..attacks import (
    NodeEquationsAttack,
    SplitThresholdAttack,
    StationarityAttack,
    StoredValuesAttack,
)
from ..victims import SELECTS, get_access, is_sampler, judge_sampler, read_state
from ._families import (
    BY_KIND,
    CHANGES_OF_KIND,
    LEVEL_OF_KIND,
    LEVELS,
    NEEDED_KINDS,
    STRIPPED,
    check_model,
    generalize,
    get_family,
    get_strongest,
    is_fitted,
    list_owned_arrays,
    make_frame,
    name_place,
)
from ._reconstruct import count_values, list_values
from ._result import CandidateSearch, Finding, ModelInspection

# Candidates up to which equations are also checked for contradictions, which takes a second.
_MOST_PROPAGATED = 1000


def search_candidates(model, records):
    """What the file attacks find of candidate records."""
    records = check_records(records, labels=False)
    if records.y is None and is_regressor(model):
        raise ValueError("A regressor stores targets, and the records have none: pass their y.")
    # Values of features are compared without labels.
    labeled = Records(records.X, np.zeros(len(records))) if records.y is None else records
    victim, notes = FrozenEstimator(model), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = StoredValuesAttack(victim).fit(labeled)
        # The strength that is said beforehand comes from ridge regression, which takes seconds.
        solver = "auto" if len(records) <= _MOST_PROPAGATED else "ridge"
        settings = {"solver": solver, "random_state": 0}
        equations = NodeEquationsAttack(victim, **settings)
        optimum = StationarityAttack(victim, **settings)
        asked = (
            (equations, records, "n_equations n_rows known expected_auc misfit"),
            (SplitThresholdAttack(victim), labeled, "n_thresholds explained expected_auc"),
            (optimum, records, "n_equations known expected_auc"),
        )
        strengths = [_read_strength(*one, notes) for one in asked]
    notes += dict.fromkeys(str(one.message) for one in caught)
    n_rows = int(stored.found_["whole_row"].sum())
    sizes = len(records), n_rows, len(stored.found_) - n_rows
    return CandidateSearch(*sizes, stored.places_, *strengths, notes=tuple(notes))


def _read_strength(attack, records, names, notes):
    """What an attack on a file says of its strength, or None."""
    own, name = attack.needs().access - {"file", "queries"}, type(attack).__name__
    if not own <= get_access(attack.victim)[0]:
        return None
    if records.y is None:
        notes.append(f"{name} was not run: it needs the labels of the candidates.")
        return None
    try:
        attack.fit(records)
    except ValueError as error:
        notes.append(f"{name} was not run: {error}")
        return None
    return {name: getattr(attack, f"{name}_") for name in names.split()}


# What estimators note in whole numbers, some of them for each column.
_NOTED = ("n_samples_fit_", "n_samples_seen_", "n_samples_", "_n_samples")
# Arrays with one row, or one entry, for each training row.
_EACH = {
    "rows": {"_fit_X", "X_train_", "X_fit_", "X_", "_raw_data", "data"},
    "per-record": {"labels_"},
}
# Arrays of nodes whose first one is the root.
_ROOTS = {"['n_node_samples']", "['count']", "['internal_count']"}
# Numbers of rows in all leaves of a tree of CatBoost.
_LEAVES = "['leaf_weights']"


def count_training_rows(owned, estimators):
    """The largest number of training rows that a part of a model states, or None."""
    # Parts that were fitted on a share of the rows, such as models of a cross-validation or trees
    # on samples, state a smaller one. It is None if a sampler of imbalanced-learn has repeated
    # rows, or made new ones, because other parts count them.
    samplers = (one.estimator for one in estimators if is_sampler(one.estimator))
    if any(is_fitted(sampler) and judge_sampler(sampler) != SELECTS for sampler in samplers):
        return None
    stated = [_read_array(one.stored, one.kind) for one in owned]
    stated += [_read_notes(one.estimator) for one in estimators]
    return max((int(one) for one in stated if one), default=None)


def _read_array(stored, kind):
    name = stored.path.rpartition(".")[2]
    if name in _EACH.get(kind, ()):
        return stored.array.shape[0]
    if name == "class_count_" or stored.path.endswith(_LEAVES):
        return _as_count(stored.array.sum())
    is_root = any(stored.path.endswith(one) for one in _ROOTS)
    return _as_count(stored.array.ravel()[0]) if is_root else 0


def _read_notes(estimator):
    state = getattr(estimator, "__dict__", {})
    noted = [np.max(np.asarray(state[one])) for one in _NOTED if _is_noted(state.get(one))]
    shape = state.get("shape_fit_")  # of a support vector machine
    noted += list(shape[:1]) if isinstance(shape, tuple) else []
    if _is_noted(state.get("t_")) and _is_noted(state.get("n_iter_")) and state["n_iter_"]:
        # Stochastic gradients count their steps: one for each row in each epoch.
        first = 0 if hasattr(estimator, "coefs_") else 1
        noted.append((np.max(state["t_"]) - first) / np.max(state["n_iter_"]))
    return max(map(_as_count, noted), default=0)


def _is_noted(value):
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number or (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size)


def _as_count(number):
    """A number as a count of rows, or 0 if it is none."""
    if not isinstance(number, Real) or not np.isfinite(number) or not 0 < number < 2**63:
        return 0
    return int(number) if number == int(number) else 0


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
      ▂▅█  THE FILE STORES TRAINING ROWS: SEVERE LEAKAGE EXPECTED   only read
    <BLANKLINE>
    The file holds training rows. This file was not attacked, only read.
    <BLANKLINE>
    KNeighborsClassifier · at least 50 training rows, as the file states
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
            groups.setdefault(key, []).append((*one, tells))
    findings = []
    for (path, _), some in groups.items():
        paths, parts, tells = zip(*some, strict=True)
        findings.append(_make_finding(name_place(path, paths), parts, set().union(*tells)))
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
