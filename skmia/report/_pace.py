"""How long an audit takes, by one measured fit and answer of a model like the victim."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._core.caches import clone_to_train
from .._core.progress import StageStep, are_stages_shown, expect_stages
from .._core.provenance import LapWatch
from .._core.query import query_victim, unwrap
from .._core.randomness import preserved_randomness
from .._core.records import has_column
from .._core.sample_weights import fit_weighted, weights_for
from .._core.skorch_nets import is_skorch
from .._core.targets import shape_targets
from ..attacks import StackedAttack, StationarityAttack
from ..base import needs_of, parts_of
from ..victims import has_file, has_stored_sums, is_linear_model, is_trainable
from ._budget import (
    AuditBudget,
    TableSize,
    expect_alone,
    expect_check,
    leave_out_costly,
    measure_table_size,
)
from ._case import ALONE, AS_FILE, ATTACKS, CHECKS, OPENING, SHADOWS, is_recipe, make_plan
from ._pool_size import SIZES
from ._run import MOST_REPEATED
from .checks import CHECKS as EACH_CHECK
from .checks._beyond_shift import BeyondShiftCheck
from .checks._drift import MOST_RECORDS as MOST_OF_DRIFT
from .checks._drift import DriftCheck
from .checks._model_and_table import ModelAndTableCheck

# Rows of the smaller of two fits by which the time of a fit is told.
_FEW = 200


class ModelPace(NamedTuple):
    """Seconds in which a model like the victim was trained, and in which it answered.

    Attributes
    ----------
    fit_seconds : float
        Seconds of one fit on `n_fitted` records.
    answer_seconds : float
        Seconds of one query about `n_answered` records.
    n_fitted, n_answered : int
    power : float
        Power of the number of records that the time of a fit grows with.
    load : float
        Seconds that passed for each second that the processor worked; 1 on a machine that has
        nothing else to do.
    """

    fit_seconds: float
    answer_seconds: float
    n_fitted: int
    n_answered: int
    power: float = 1.0
    load: float = 1.0

    def fit_on(self, n: float) -> float:
        """Return the seconds of a fit on so many records.

        Parameters
        ----------
        n : float
            Number of records.

        Returns
        -------
        seconds : float
        """
        return self.fit_seconds * (max(n, 1) / self.n_fitted) ** self.power

    def answer_on(self, n: float) -> float:
        """Return the seconds of a query about so many records.

        Parameters
        ----------
        n : float
            Number of records.

        Returns
        -------
        seconds : float
        """
        return self.answer_seconds * n / self.n_answered

    def loop_on(self, n: float) -> float:
        """Return the seconds of one shadow model.

        A fit on half of so many records, and all their answers.

        Parameters
        ----------
        n : float
            Number of records.

        Returns
        -------
        seconds : float
        """
        return self.fit_on(n / 2) + self.answer_on(n)


def measure_pace(model, records, fit_params=None):
    """Return the pace of a model by small fits on some records, or None if it cannot be told.

    Only of packages whose models do nothing else when they are fitted, such as write a ledger.
    """
    model = unwrap(model)
    parts = [model, *getattr(model, "get_params", dict)().values()]
    homes = {type(part).__module__.partition(".")[0] for part in parts if hasattr(part, "fit")}
    if not homes or not homes <= {"sklearn", "xgboost", "lightgbm", "catboost"}:
        return None
    n, took, watch = len(records), [], LapWatch()
    sizes = [min(_FEW, n // 2), min(2 * _FEW, n)]
    try:
        with warnings.catch_warnings(), preserved_randomness():
            warnings.simplefilter("ignore")
            for size in sizes:
                rows = np.random.default_rng(0).permutation(n)[:size]
                some = records[np.sort(rows)]
                watch.lap()
                weights = weights_for(model, some)
                y = shape_targets(model, some.X, some.y, has_column(some))
                fitted = fit_weighted(clone_to_train(model), some.X, y, weights, fit_params)
                took.append(watch.lap())
            query_victim(fitted, some.X)
            answer = watch.lap()
    except Exception:  # without an estimate the audit goes on, and says itself what is wrong
        return None
    if not min(took) > 0:  # the clock is too coarse
        return None
    power = float(np.clip(np.log2(took[1] / took[0]), 0.5, 2.0))
    return ModelPace(took[1], answer, sizes[1], sizes[1], power, watch.load)


class AuditSize(NamedTuple):
    """What the time of an audit depends on, beside the pace of its model."""

    model: Any  # that is cloned
    n_records: int
    n_columns: int
    n_classes: int
    n_shadows: int  # that are certain
    may_grow: bool  # whether there may be more of them
    has_file: bool
    alone: dict  # names of attacks without shadow models, and their costs; None if not known
    pooled: dict  # names of attacks with them, and the seconds that these say; 0 if they do not
    table: TableSize
    n_workers: int = 1


def size_up(
    model, records, *, n_classes, shadows, n_jobs, file, time_budget=None, attacks=None, costs=None
):
    """Return the size of an audit; of the default attacks, if none are named.

    costs: what attacks without shadow models are known to take, by their names.
    """
    is_auto = isinstance(shadows, str)
    first = SIZES[1] if time_budget is None else SIZES[0]
    n_shadows = first if is_auto else shadows if isinstance(shadows, int | np.integer) else 0
    is_linear = is_linear_model(unwrap(model))
    if attacks is None:
        pooled, alone = {"StackedAttack": StackedAttack()}, ["AnalyticLiRA"] if is_linear else []
    else:
        keeps = {name: bool(needs_of(attack).keeps) for name, attack in attacks.items()}
        alone = [name for name in keeps if not keeps[name]]
        pooled = {name: attacks[name] for name in keeps if keeps[name]}
    shape = getattr(records.X, "shape", ())
    return AuditSize(
        model=unwrap(model),
        n_records=len(records),
        n_columns=shape[1] if len(shape) == 2 else 1,
        n_classes=n_classes,
        n_shadows=int(n_shadows) if pooled else 0,
        may_grow=is_auto and bool(pooled),
        has_file=file,
        alone={name: (costs or {}).get(name) for name in alone},
        pooled={name: _expect_pooled(attack, records) for name, attack in pooled.items()},
        n_workers=max(1, min(effective_n_jobs(n_jobs), max(1, int(n_shadows)))),
        table=measure_table_size(records),
    )


def _expect_pooled(attack, records):
    """Return the seconds that an attack says it takes beside its shadow models, else 0."""
    said = [one for one in parts_of(attack) if hasattr(one, "expect_cost")]
    try:
        return max((one.expect_cost(records).seconds for one in said), default=0.0)
    except Exception:  # whatever it is, the attack itself will say so
        return 0.0


def _size_up_case(case, pace):
    request, victim = case.request, case.request.victim
    # Attacks that will be left out take no time.
    plan = leave_out_costly(case, make_plan(case.attacks, request, case.records), pace)
    classes = getattr(request.outputs, "classes", None)
    return size_up(
        request.model,
        case.records,
        n_classes=1 if classes is None else len(classes),
        shadows=request.shadows,
        n_jobs=request.n_jobs,
        file=case.file and not is_recipe(victim) and has_file(victim),
        time_budget=case.time_budget,
        attacks=plan.attacks,
        costs=expect_alone(plan.attacks, case),
    )


# Kinds of steps whose time no model says: the first of each kind that are over say how long the
# others take. What is guessed before that are seconds on one core of a laptop.
_READING, _ARITHMETIC = "reading a file", "arithmetic"
# Reading a file of trees takes so many times as long as their answers do.
_ANSWERS_OF_TREES = 50
# Reading a file of another kind, of one number of one record for one class; one that stores sums
# has several of each column, and reads a sparse table like a full one.
_OF_A_CELL, _OF_SUMS = 1e-7, 5
# Attacks and checks, of one record, and what they take however few there are.
_OF_REPETITIONS = 2e-5, 0.09
_OF_ANOTHER, _OF_FILE = (1.5e-6, 0.01), 0.07
# Reading a single tree, the cube of the number of its equations, which are solved some times.
_OF_INVERSION = 1.3e-10
# Models that are trained together take this share of the time that they take one by one.
_TOGETHER = 0.5
# The control attacks a clone with at most so many candidates, or so many for each column: what it
# asks, whether the attack is as strong as it states, needs no more.
MOST_OF_CONTROL, MOST_OF_COLUMN = 4_000, 20
# Models of the check of drift, beside the one that is there, and of the folds of members.
CONTROL_OF_FILE, REPETITIONS = "control of the file", "repetitions"
_N_OF_DRIFT, _N_FOLDS = 2, 5


def expect_audit(size, pace, took=None):
    """Return the seconds of each stage of an audit by its steps; took has those of what is over."""
    loop = pace.loop_on(size.n_records)
    together = 1.0 if _is_one_by_one(size.model) else _TOGETHER
    other = _guess_of_records(size, pace, *_OF_ANOTHER)
    stages = {
        OPENING: {
            "victim": pace.answer_on(size.n_records),
            # A second clone is trained of a model that generalizes well, as linear ones do.
            ModelAndTableCheck.name: (2 if is_linear_model(size.model) else 1)
            * (pace.fit_seconds + pace.answer_seconds),
        },
        AS_FILE: _expect_file_stage(size, pace) if size.has_file else 0.0,
        ALONE: {
            name: _expect_alone(name, cost, size, pace) or other
            for name, cost in size.alone.items()
        },
        SHADOWS: StageStep(
            size.n_shadows * loop * together / size.n_workers,
            n_parts=size.n_shadows,
            most_parts=SIZES[-1] if size.may_grow else 0,
        ),
        ATTACKS: {
            name: _guess_seconds(pace, seconds) if seconds else other
            for name, seconds in size.pooled.items()
        },
    }
    return stages | {CHECKS: _expect_checks(size, pace, loop, took or {})}


def _guess_seconds(pace, seconds):
    return StageStep(pace.load * seconds, _ARITHMETIC)


def _expect_alone(name, cost, size, pace):
    """Return the step of an attack without shadow models by its cost; None if that is not known."""
    if cost is not None:
        return StageStep(pace.load * cost.seconds + cost.n_fits * pace.fit_on(size.n_records))
    return StageStep(2.0 * pace.loop_on(size.n_records)) if name == "AnalyticLiRA" else None


def _guess_of_records(size, pace, each, least, most=np.inf, more=0.0):
    return _guess_seconds(pace, more + least + each * min(size.n_records, most))


def _expect_file_stage(size, pace):
    file, n_of_control = _expect_file(size, pace), _count_of_control(size)
    return {
        "file": StageStep(file, _READING),
        # It is asked unless the leak is severe, as that of trees mostly is.
        CONTROL_OF_FILE: StageStep(
            file * n_of_control / size.n_records + pace.fit_on(size.n_records / 2),
            _READING,
            is_certain=not _has_trees(size.model),
        ),
    }


def _expect_checks(size, pace, loop, took):
    n_of_drift = min(size.n_records, MOST_OF_DRIFT)
    of_drift = _N_OF_DRIFT * (pace.fit_on(n_of_drift / 4) + pace.answer_on(n_of_drift / 2))
    slowest = max((took.get(name, 0.0) for name in (*size.alone, *size.pooled)), default=0.0)
    analytic = size.alone.get("AnalyticLiRA")  # which does again what it did on the victim
    repeated = 0.0 if analytic is None else analytic.seconds
    again = _N_FOLDS * (loop + slowest + (took.get("file", 0.0) / 2 if size.has_file else 0.0))
    return {
        REPETITIONS: _guess_of_records(size, pace, *_OF_REPETITIONS, MOST_REPEATED, more=repeated),
        **{
            check.part: _guess_seconds(pace, expect_check(check, size.table).seconds)
            for check in EACH_CHECK
            if check.record_seconds is not None
        },
        DriftCheck.name: StageStep(of_drift if is_trainable(size.model) else 0.0),
        # It is asked where the sides differ.
        BeyondShiftCheck.name: StageStep(again, is_certain=False),
    }


def _expect_file(size, pace):
    least = pace.load * _OF_FILE
    if hasattr(size.model, "tree_"):
        n_equations = size.model.get_n_leaves() * max(1, size.n_classes - 1)
        return least + pace.load * _OF_INVERSION * min(n_equations, size.n_records) ** 3
    if _has_trees(size.model):
        return least + _ANSWERS_OF_TREES * pace.answer_on(size.n_records)
    n_sums = size.n_classes * size.table.n_cells
    if is_linear_model(size.model):
        n_equations = (size.n_columns + 1) * max(1, size.n_classes - 1)
        loop = size.n_shadows * pace.loop_on(size.n_records) / pace.load
        most = AuditBudget(np.inf, loop).seconds
        solving = StationarityAttack.expect_seconds(n_equations, size.n_records, most)
        least += pace.load * solving
    elif has_stored_sums(size.model):
        n_sums = _OF_SUMS * size.n_records * size.n_columns
    return least + pace.load * _OF_A_CELL * n_sums


def _has_trees(model):
    kinds = hasattr(model, "n_estimators"), hasattr(model, "tree_")
    return any(kinds) or "Boost" in type(model).__name__


def _count_of_control(size):
    """Return the number of candidates of the control of a file."""
    return min(size.n_records, max(MOST_OF_CONTROL, MOST_OF_COLUMN * size.n_columns))


def _is_one_by_one(model):
    is_net = is_skorch(model) or type(model).__name__.startswith("MLP")
    return not (is_net or is_linear_model(model))


def tell_pace(case, pace, took=None):
    """Say how long the stages of an audit take, if they are shown."""
    if pace is not None and are_stages_shown():
        expect_stages(expect_audit(_size_up_case(case, pace), pace, took))
