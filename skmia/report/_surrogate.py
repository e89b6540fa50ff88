"""Reference models of an audit: a stand-in for a victim that cannot be trained, and what they say.

The numbers of attacks that compare a victim with models of another kind say little, so a stand-in
is the nearest of several kinds, and it is measured whether the victim behaves like its models.
"""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .._core.containers import in_memory, is_frame
from .._core.copies import copy_unfitted
from .._core.numbers import as_series
from .._core.outputs import PREDICTIONS, Outputs
from .._core.query import query_aligned, query_victim, unwrap
from .._core.splits import compute_strata, draw_halves, number_units
from .._core.text import tell_percent
from .._core.threads import on_one_thread
from .._core.tokens import hold_tokens
from ..attacks import AnalyticLiRA
from ..base import is_open, needs_of, parts_of
from ..victims import is_trainable
from ._case import is_recipe, train_victim
from ._gaps import measure_gaps
from ._words import join_names
from .checks import find_outcome
from .checks._base import PASSED
from .checks._base import RECIPE as RECIPE_ROLE

# Where the reference models come from: clones of the victim, a recipe that was given, or the kind
# whose answers are nearest to the victim's.
OWN, GIVEN, CHOSEN = "own", "given", "chosen"
# Name in the provenance under which somebody answers for it that a given recipe is the victim's.
RECIPE = "recipe of the model"

# Reference models, and the share of the records that they judge, below which an attack could not
# have found much, or not about all records: for policies and for the evidence on anonymity.
FEWEST_MODELS, LEAST_SHARE = 8, 0.95
# Upper 1% point of the normal law: a larger gap than that of the stand-ins.
_LARGEST_GAP = 2.33

_MOST_ROWS = 20_000  # of one fit for the choice, beyond which the order of the kinds is settled
_MOST_CLASSES = 20  # boosting fits a model for each class and round
_MOST_CATEGORIES = 20
_UNABLE = "No stand-in could be trained: {}."
_REMEDY = (
    "Pass estimator=, the recipe of the model, and state it in provenance, as {!r} (--estimator "
    "and --recipe)."
)


class StandIn(NamedTuple):
    """An estimator in place of a recipe that is not known."""

    estimator: Any  # the kind whose answers are nearest; None if none can be trained
    distances: list  # ``estimator`` and ``distance`` of each kind, the nearest first
    obstacle: str | None = None  # why there is none, in a sentence


STAND_IN = "stand-in"  # part of an audit


def with_stand_in(case, clock):
    """Give a case a stand-in, if its attacks need models like a victim that cannot be trained."""
    request = case.request
    parts = [part for attack in case.attacks.values() for part in parts_of(attack)]
    needs_pool = any(is_open(part, "shadows") and part.needs().keeps for part in parts)
    is_known = request.estimator is not None or is_trainable(request.model)
    if is_known or not (needs_pool and request.trains_pool):
        return case
    if request.fit_params is not None:
        raise ValueError("fit_params needs estimator, the model that is trained with them.")
    with clock(STAND_IN):
        found = choose_stand_in(case)
    note = found.obstacle
    if found.estimator is not None:
        note = (
            f"The model cannot be trained, so the shadow models are of a stand-in, "
            f"{name_model(found.estimator)}, whose answers were the nearest of "
            f"{len(found.distances)} kinds. A model of another kind may leak more."
        )
    request = request._replace(estimator=found.estimator, stand_in=found)
    return replace(case, request=request, notes=[*case.notes, note])


def choose_stand_in(case):
    """Return the kind of model whose answers are nearest to the victim's.

    Each kind is fitted twice, on as many records as there are members, and answers for one half of
    the non-members, which it has not seen. Members are among the training records of both.

    fits: on them, the answers of the victim tell what it remembers, and are not compared.
    """
    try:
        refuse_no_table(case.records)
        _refuse_margins(case.request.outputs)
        kinds, fits = list_kinds(case.records, case.request.outputs), list(_draw_fits(case))
    except ValueError as error:
        return StandIn(None, [], _UNABLE.format(str(error).rstrip(".")))
    found = []
    for kind in kinds:
        with warnings.catch_warnings(), on_one_thread():
            warnings.simplefilter("ignore")  # a kind that warns of its fit is one of several
            try:
                distance = float(np.mean([_measure_distance(kind, case, *fit) for fit in fits]))
            except Exception:  # of whatever kind: the others remain
                continue
        if np.isfinite(distance):
            found.append((distance, kind))
    if not found:
        return StandIn(None, [], _UNABLE.format("no kind of model could be fitted to the records"))
    found.sort(key=lambda pair: pair[0])
    listed = [{"estimator": name_model(kind), "distance": distance} for distance, kind in found]
    return StandIn(found[0][1], listed)


def refuse_no_table(records):
    """Refuse records that none of the kinds takes."""
    X = in_memory(records.X)
    is_table = is_frame(X) or sparse.issparse(X) or isinstance(X, np.ndarray)
    if not is_table or len(X.shape) != 2 or hold_tokens(records):
        raise ValueError("the records are images, tokens or texts, and no table")


def _refuse_margins(outputs):
    """Refuse answers that those of the kinds cannot be compared with."""
    if not isinstance(outputs, Outputs) or outputs.kind == "decision":
        raise ValueError(
            "the victim returns neither probabilities nor labels of classes nor numbers"
        )


# The first two take scaled columns, and the last one no sparse matrices.
_CLASSIFIERS = (
    LogisticRegression(max_iter=1000),
    KNeighborsClassifier(),
    GaussianNB(),
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(),
    RandomForestClassifier(min_samples_leaf=5),
    HistGradientBoostingClassifier(early_stopping=False),
)
_REGRESSORS = (
    Ridge(),
    KNeighborsRegressor(),
    DecisionTreeRegressor(max_depth=3),
    RandomForestRegressor(),
    RandomForestRegressor(min_samples_leaf=5),
    HistGradientBoostingRegressor(early_stopping=False),
)


def list_kinds(records, outputs):
    """Return the unfitted models of each kind, with what they need to take the records."""
    X, is_value = in_memory(records.X), outputs.kind in PREDICTIONS
    is_sparse, encoder = sparse.issparse(X), _make_encoder(X)
    models = [*(_REGRESSORS if is_value else _CLASSIFIERS)]
    few = outputs.kind == "value" or (not is_value and len(np.unique(records.y)) <= _MOST_CLASSES)
    if is_sparse or not few:  # boosted trees have one target
        del models[-1]
    kinds = []
    for place, model in enumerate(models):
        model = BernoulliNB() if is_sparse and isinstance(model, GaussianNB) else model
        scaler = [MaxAbsScaler() if is_sparse else StandardScaler()] if place < 2 else []
        steps = [*([] if encoder is None else [encoder]), *scaler, model]
        model = make_pipeline(*steps).set_output(transform="default") if len(steps) > 1 else model
        kinds.append(copy_unfitted(model))
    return kinds


def _make_encoder(X):
    """Return what makes numbers of the columns of a table; None where they are complete numbers."""
    if sparse.issparse(X):
        return None
    if not is_frame(X) and X.dtype.kind in "biuf":
        return None if np.isfinite(X).all() else make_pipeline(_NUMBERS, _FILL)
    numbers, others = [], []
    for j in range(X.shape[1]):
        dtype = (X.iloc[:, j] if is_frame(X) else as_series(X[:, j], infers=True)).dtype
        is_number = pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"
        (numbers if is_number or dtype.kind in "mM" else others).append(j)
    settings = {"handle_unknown": "infrequent_if_exist", "sparse_output": False}
    categories = OneHotEncoder(max_categories=_MOST_CATEGORIES, **settings)
    parts = [
        ("numbers", make_pipeline(_NUMBERS, _FILL), numbers),
        ("categories", make_pipeline(_TEXTS, categories), others),
    ]
    return ColumnTransformer(parts, sparse_threshold=0.0)


def _as_imputable_numbers(X):
    """Return the numbers of columns, times as seconds, and infinite values as missing ones."""
    frame = pd.DataFrame(X)
    columns = np.empty(frame.shape)
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind in "mM":
            unit = pd.Timedelta(seconds=1)
            start = pd.Timestamp(0, tz=getattr(column.dtype, "tz", None))
            column = (column - start if column.dtype.kind == "M" else column) / unit
        columns[:, j] = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    columns[np.isinf(columns)] = np.nan
    return columns


def _stringify_cells(X):
    return pd.DataFrame(X).astype(object).map(str).to_numpy(dtype=object)


_NUMBERS, _TEXTS = FunctionTransformer(_as_imputable_numbers), FunctionTransformer(_stringify_cells)
_FILL = SimpleImputer(strategy="median", keep_empty_features=True)


def _draw_fits(case):
    """Yield the training records and the left-out non-members of two fits."""
    membership, rng = case.membership, np.random.default_rng(case.seeds["victim"])
    others = np.flatnonzero(~membership)
    units = number_units(case.records.fingerprint, case.people)
    of_others = np.unique(units[others], return_inverse=True)[1]
    strata = compute_strata(case.records.y[others], case.request.outputs.kind not in PREDICTIONS)
    if of_others.max() == 0:
        raise ValueError("all non-members belong together")
    halves = draw_halves(of_others, strata, len(others), rng)
    for half in halves[:2]:
        held = others[half]
        free = np.flatnonzero(~np.isin(units, units[held]))
        if len(held) == 0 or len(free) < 2:
            raise ValueError("there are too few records")
        n_rows = min(int(membership.sum()), len(free), _MOST_ROWS)
        train = np.zeros(len(membership), dtype=bool)
        train[rng.choice(free, n_rows, replace=False)] = True
        yield train, held[:_MOST_ROWS], int(rng.integers(np.iinfo(np.int32).max))


def _measure_distance(kind, case, train, held, seed):
    """Return the mean distance of the answers for records that neither model was trained on.

    Of classes it is the total variation; where the victim tells the probability of the label alone
    or a label, the part of it that shows. Of numbers it is the mean difference, in standard
    deviations of the targets.
    """
    model = train_victim(kind, case.records, train, seed)
    X, y = case.records[held].X, case.records.y[held]
    theirs = case.request.outputs[held]
    if theirs.kind in PREDICTIONS:
        spread = np.std(case.records.y, axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        return np.mean(np.abs(query_victim(model, X).values - theirs.values) / scale)
    ours = query_aligned(model, X, y)
    if theirs.kind == "label":
        return np.mean(ours.as_labels().values != theirs.values)
    if theirs.classes is None:  # log odds of the label
        of_label = np.exp(ours.log_proba()[np.arange(len(y)), ours.label_index(y)])
        return np.abs(of_label - expit(theirs.values)).mean()
    frames = []
    for outputs in (ours, theirs):
        values = np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values
        frames.append(pd.DataFrame(np.asarray(values), columns=outputs.classes))
    ours, theirs = frames[0].align(frames[1], axis=1, fill_value=0.0)
    return np.abs(ours.to_numpy() - theirs.to_numpy()).sum(axis=1).mean() / 2


def name_model(model):
    """Return the last step of a Pipeline, or a model, in one line."""
    model = unwrap(model)
    if isinstance(model, Pipeline):
        return name_model(model[-1])
    return " ".join(repr(model).split())


def describe_reference(case, run):
    """Say what the victim was compared with, for a policy that asks for it."""
    request, stand_in = case.request, case.request.stand_in
    recipe = _find_recipe(case, run.pool)
    attacks = [
        {
            "attack": name,
            "share": float(run.judged[name].mean()),
            "n_models": _count_models(attack, run.pool),
        }
        for name, attack in run.attacks.items()
        if needs_of(attack).keeps or isinstance(attack, AnalyticLiRA)
    ]
    model = request.estimator if run.pool is None else run.pool.estimator
    return {
        "recipe": recipe,
        "estimator": None if recipe == OWN or model is None else name_model(model),
        "distances": [] if stand_in is None else stand_in.distances,
        "obstacle": None if stand_in is None else stand_in.obstacle,
        "attacks": attacks,
        "left_out": list(run.left_out),
        "gap": None if run.pool is None else measure_gaps(case, run.pool),
    }


def _find_recipe(case, pool):
    """Whether the shadow models are clones of the victim, of a given recipe, or of a stand-in."""
    request = case.request
    if request.stand_in is not None:
        return CHOSEN
    if is_recipe(request.victim) or not is_trainable(unwrap(request.victim)):
        return GIVEN
    if request.estimator is None and (request.trains_pool or pool is None):
        return OWN
    model = unwrap(request.estimator if pool is None else pool.estimator)
    return OWN if _list_settings(model) == _list_settings(unwrap(request.victim)) else GIVEN


# Parameters that do not change what a model is like.
_WITHOUT_EFFECT = {"random_state", "n_jobs", "verbose"}


def _list_settings(model):
    """Return class of a model and its settings, without those that change nothing or hold parts."""
    if not hasattr(model, "get_params"):
        return type(model), None
    settings = {}
    for name, value in model.get_params().items():
        if name.split("__")[-1] in _WITHOUT_EFFECT:
            continue
        is_part = hasattr(value, "get_params") or name in ("steps", "transformers", "estimators")
        settings[name] = type(value).__name__ if is_part else repr(value)
    return type(model), settings


def _count_models(attack, pool):
    """Return the smallest number of models among the pools of an attack; None in closed form."""
    counts = []
    for part in parts_of(attack):
        if not part.needs().keeps:
            continue
        own = part.get_params(deep=False).get("shadows")
        own = pool if own is None else unwrap(own)
        given = own if isinstance(own, Integral) else getattr(own, "n_estimators", 0)
        counts.append(int(len(getattr(own, "membership_", ())) or given))
    return min(counts, default=None)


def why_no_reference(reference, checks, stand_in, provenance):
    """Return why no attack that compares with reference models was able to find something.

    Return why: sentences that end in what would change it; None if one was able to.
    """
    if reference is None:
        return "The report does not say what the model was compared with. Run the audit again."
    is_known = reference["recipe"] == OWN or _is_stated(reference, provenance)
    why = _why_not_able(reference, is_known)
    return why if why is not None or is_known else _why_not_alike(reference, checks, stand_in)


def _is_stated(reference, provenance):
    """Return whether a recipe that was given, and not chosen here, is stated to be the victim's."""
    return reference["recipe"] == GIVEN and bool(provenance.get(RECIPE, "").strip())


def _why_not_able(reference, is_known):
    """Return why no attack had models enough for records enough, or None."""
    ran = [row for row in reference["attacks"] if row["n_models"] is not None or is_known]
    if not ran:
        return _describe_none(reference)
    full = [row for row in ran if row["share"] >= LEAST_SHARE]
    if not full:
        row = max(ran, key=lambda row: row["share"])
        return (
            f"{row['attack']} judged {tell_percent(row['share'])} of the records, and "
            f"{LEAST_SHARE:.0%} are needed. Train more shadow models."
        )
    if any(row["n_models"] is None or row["n_models"] >= FEWEST_MODELS for row in full):
        return None
    return (
        f"{join_names(row['attack'] for row in full)} compared it with "
        f"{max(row['n_models'] for row in full)} models, and {FEWEST_MODELS} are needed. Run the "
        f"audit with shadows={FEWEST_MODELS} or more (--shadows)."
    )


def _describe_none(reference):
    if not reference["left_out"]:
        return (
            "None of the attacks of the audit compares the model with others. Run the audit with "
            "LiRA or RMIA among its attacks."
        )
    names = [text.partition(" was left out: ")[0] for text in reference["left_out"]]
    why = reference["obstacle"] or reference["left_out"][0]
    return (
        f"{join_names(names)} could not run. {why} Pass estimator=, the recipe of the model or one "
        "that behaves like it."
    )


def _why_not_alike(reference, checks, stand_in):
    """Return why models of a stand-in do not suffice, or None."""
    name, remedy = reference["estimator"], _REMEDY.format(RECIPE)
    if reference["recipe"] == GIVEN:
        remedy = (
            f"If {name} is the recipe of the model, state it in provenance, as {RECIPE!r} "
            "(--recipe)."
        )
    if not stand_in:
        return (
            f"The reference models are of a stand-in, {name}, and this policy takes none "
            f"(stand_in = false). {remedy}"
        )
    check = find_outcome(checks, RECIPE_ROLE)
    if check is None or check.status != PASSED:
        more = {"above": "more", "below": "less"}.get(getattr(check, "finding", None))
        if more is None:
            found = "Models of the stand-in could not be treated as the victim, so it is not known "
            return f"{found}whether {name} behaves like the model. {remedy}"
        return (
            f"The model leaks {more} than models of the stand-in {name}, so it is of another kind. "
            f"{remedy}"
        )
    gap = reference["gap"]
    if gap is None:
        return f"The gap of the models of the stand-in {name} could not be measured. {remedy}"
    why = why_gap_too_large(reference)
    return why if why is None else f"{why} {remedy}"


def why_gap_too_large(reference):
    """By how much a model fits its members better than models like it fit theirs, or None."""
    gap = None if reference is None else reference["gap"]
    if gap is None or gap["z"] <= _LARGEST_GAP:
        return None
    name = reference["estimator"]
    models = "its shadow models" if name is None else f"models of the stand-in {name}"
    return (
        f"The model fits its members better than other records by {gap['victim']:.3f}, and "
        f"{models} fit theirs by {gap['mean']:.3f} (z {gap['z']:.1f}), so it is of "
        "another kind."
    )


def why_not_undecided(reference, provenance):
    """Return why models of a stand-in do not suffice for a number around its limit, or None.

    The strongest attack with the recipe of the model may find somewhat more than with a stand-in.
    """
    if reference is None or reference["recipe"] == OWN or _is_stated(reference, provenance):
        return None
    return (
        f"The reference models are of a stand-in, {reference['estimator']}, with which every "
        f"number has to be within its limit. {_REMEDY.format(RECIPE)}"
    )


def describe_stand_in(reference, provenance):
    """Return a remark on models of a stand-in, in a list that is empty if there is none."""
    if reference is None or reference["recipe"] == OWN or reference["estimator"] is None:
        return []
    name = reference["estimator"]
    if _is_stated(reference, provenance):
        return [
            f"The reference models are of {name}, which is stated to be the recipe of the model."
        ]
    return [
        f"The reference models are of a stand-in, {name}. A model of another kind may leak more."
    ]
