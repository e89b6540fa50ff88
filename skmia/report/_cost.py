"""The stages of an audit with what each will take and hold, and what they come to."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._core.budget import count_table_bytes, format_apart, format_bytes, format_duration
from .._core.progress import StageStep
from .._core.provenance import LapWatch, PartClock
from .._core.query import query_victim, unwrap
from .._core.records import Records
from .._core.sklearn import list_fitted_estimators
from .._core.types import ArrayLike, Frozen, Rows, Seed
from ..shadow import ShadowPool
from ..victims import find_model, has_file, is_trainable
from ._budget import expect_alone, expect_check, leave_out_costly
from ._case import (
    AS_FILE,
    OPENING,
    SHADOWS,
    choose_records,
    draw_members,
    is_recipe,
    make_plan,
    open_case,
    train_victim,
)
from ._file import is_sequence_victim
from ._pace import REPETITIONS, ModelPace, expect_audit, size_up
from ._pool_size import SIZES
from ._run import MOST_REPEATED
from ._surrogate import STAND_IN, with_stand_in
from .agreement import Agreement
from .checks import CHECKS as EACH_CHECK


@dataclass(frozen=True, repr=False)
class AuditCost:
    """What an audit is expected to take and to hold, as returned by :func:`estimate_cost`.

    Attributes
    ----------
    phases : DataFrame
        One row for each phase in its order, with its ``stage``, the ``seconds`` that it is expected
        to take on this machine, and ``n_bytes``, about what it holds at a time in addition to the
        table and the answers. Seconds are NaN where no clone could be timed.
    left_out : list of str
        A sentence for each attack that will not run, and why.
    n_shadows : int
        Number of shadow models that are trained in any case.
    may_grow : bool
        Whether there may be more of them: the audit then trains up to 64 and takes longer.
    """

    phases: pd.DataFrame
    left_out: list
    n_shadows: int
    may_grow: bool

    @property
    def seconds(self) -> float:
        """Seconds of all phases."""
        return float(self.phases["seconds"].sum(skipna=False))

    @property
    def n_bytes(self) -> float:
        """Bytes of the phase that holds most."""
        return float(self.phases["n_bytes"].max())

    def __repr__(self):
        return f"AuditCost({self._tell()})"

    def _tell(self):
        time = format_duration(self.seconds)
        if np.isfinite(self.seconds):
            time = f"{'at least' if self.may_grow else 'about'} {time}"
        else:
            time = f"{time} time"
        return f"{time}, {format_bytes(self.n_bytes)}, {self.n_shadows} shadow models"

    def summary(self) -> str:
        """Return the phases as a table, the total, and what is left out.

        Returns
        -------
        text : str
            What ``skmia audit --dry-run`` prints.
        """
        cells = [("phase", "time", "memory")]
        for name, row in self.phases.iterrows():
            label = name if name == row["stage"] else f"{row['stage']}: {name}"
            cells.append((label, format_duration(row["seconds"]), format_bytes(row["n_bytes"])))
        width = max(len(row[0]) for row in cells) + 2
        lines = [f"{row[0]:<{width}}{row[1]:>9}{row[2]:>9}" for row in cells]
        told = [f"In all {self._tell()}.", *self._tell_most(), *self.left_out]
        return "\n".join([*lines, "", *told])

    def _tell_most(self):
        if not self.may_grow:
            return []
        of_shadows = self.phases.loc[SHADOWS, "seconds"]
        most = self.seconds + of_shadows * (SIZES[-1] / self.n_shadows - 1)
        about = f"; with {SIZES[-1]} it is about {format_duration(most)}" if most >= 0 else ""
        return [
            f"Up to {SIZES[-1]} shadow models are trained, as long as more of them change the "
            f"result{about}."
        ]


def estimate_cost(
    victim: BaseEstimator | None,
    records: Records | None = None,
    membership: ArrayLike | None = None,
    *,
    train: tuple[Rows, ArrayLike] | Records | None = None,
    held_out: tuple[Rows, ArrayLike] | Records | None = None,
    attacks: Literal["default"] | Mapping[str, BaseEstimator] = "default",
    shadows: Literal["auto"] | int | ShadowPool | Frozen = "auto",
    time_budget: float | None = None,
    max_bytes: float | Literal["auto"] = "auto",
    estimator: BaseEstimator | None = None,
    file: bool = True,
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> AuditCost:
    """Estimate what an audit will take and hold, before it is begun.

    The victim is asked once for all records, and one clone of it is trained on a random half of
    them and asked as well. What they took, and the sizes of table and model, tell what the phases
    of the audit will take. For a victim that cannot be trained, a stand-in is chosen as in the
    audit, among models of several kinds. No attack runs and nothing is written.

    Parameters
    ----------
    victim : estimator or None
        As in :func:`skmia.audit`. If it is unfitted, the one clone takes its place.
    records : Records of n records, default=None
        As in :func:`skmia.audit`.
    membership : array-like of shape (n,), default=None
        As in :func:`skmia.audit`.
    train, held_out : tuple (X, y) or Records, default=None
        As in :func:`skmia.audit`.
    attacks : "default" or mapping of str to attack, default="default"
        As in :func:`skmia.audit`.
    shadows : "auto", int or ShadowPool, default="auto"
        As in :func:`skmia.audit`.
    time_budget : float, default=None
        As in :func:`skmia.audit`.
    max_bytes : float or "auto", default="auto"
        As in :func:`skmia.audit`.
    estimator : estimator, default=None
        As in :func:`skmia.audit`.
    file : bool, default=True
        As in :func:`skmia.audit`.
    fit_params : dict or callable, default=None
        As in :func:`skmia.audit`.
    n_jobs : int, default=None
        As in :func:`skmia.audit`.
    random_state : int, RandomState instance or None, default=None
        Controls which half the clone is trained on.

    Returns
    -------
    cost : AuditCost
        ``print(cost.summary())`` shows it as a table.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        As in :func:`skmia.audit`, whose arguments are checked.

    See Also
    --------
    skmia.audit : The audit itself.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report.cost import estimate_cost
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> cost = estimate_cost(tree, records, membership, random_state=0)
    >>> cost.n_shadows, bool(0 < cost.seconds < 60), cost.left_out
    (8, True, [])
    """
    records, membership = choose_records(records, membership, train, held_out)
    pace, settings = None, {"fit_params": fit_params, "estimator": estimator}
    if victim is not None and is_recipe(victim) and "outputs" not in records.fields:
        inside = _draw_half_of_records(records, random_state) if membership is None else membership
        victim, pace = _time_training(victim, records, inside, random_state, fit_params)
        membership = inside
    case = open_case(
        victim,
        records,
        membership,
        PartClock(),
        **{"attacks": attacks, "shadows": shadows, "time_budget": time_budget, **settings},
        **{"file": file, "n_jobs": n_jobs, "random_state": random_state, "max_bytes": max_bytes},
        **_OF_NO_COST,
    )
    clock = PartClock()
    case = with_stand_in(case, clock)
    if pace is None and is_trainable(unwrap(case.request.model)):
        inside = _draw_half_of_records(case.records, random_state)
        model = case.request.model
        pace = _time_training(model, case.records, inside, random_state, fit_params)[1]
    return _make_cost(case, pace, clock.read().get(STAND_IN))


_OF_NO_COST = {
    "group": None,
    "fprs": (0.01, 0.001),
    "confidence_level": 0.95,
    "controls": False,
    "batched": "auto",
    "checkpoint": None,
    "verbose": 0,
}


def _draw_half_of_records(records, random_state):
    strata = np.zeros(len(records), dtype=int)
    return draw_members(records, strata, np.random.default_rng(_as_seed(random_state)))


def _as_seed(random_state):
    return random_state if isinstance(random_state, int) else 0


def _time_training(model, records, inside, random_state, fit_params):
    watch = LapWatch()
    mask = np.asarray(inside) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit warns again
        fitted = train_victim(model, records, mask, _as_seed(random_state), fit_params)
        fit = watch.lap()
        query_victim(unwrap(fitted), records.X)
    return fitted, ModelPace(fit, watch.lap(), int(mask.sum()), len(records), load=watch.load)


def _make_cost(case, pace, of_stand_in=None):
    """Return the expected time and memory of each phase, and what would be left out.

    of_stand_in: seconds in which a stand-in was chosen, as the audit does it.
    """
    request, victim = case.request, case.request.victim
    agreement = Agreement("cannot tell", "Not asked.", pace=pace)
    case = replace(case, agreement=agreement)
    plan = leave_out_costly(case, make_plan(case.attacks, request, case.records))
    classes = getattr(request.outputs, "classes", None)
    can_read = not is_recipe(victim) and has_file(victim) and not is_sequence_victim(victim)
    size = size_up(
        request.model,
        case.records,
        n_classes=1 if classes is None else len(classes),
        shadows=request.shadows,
        n_jobs=request.n_jobs,
        file=case.file and can_read,
        time_budget=case.time_budget,
        attacks=plan.attacks,
        costs=expect_alone(plan.attacks, case),
    )
    timed = ModelPace(np.nan, np.nan, 1, 1) if pace is None else pace
    rows = []
    if of_stand_in is not None:
        n_bytes = _expect_bytes(STAND_IN, OPENING, case, size)
        rows.append((STAND_IN, OPENING, of_stand_in, n_bytes))
    for stage, steps in expect_audit(size, timed).items():
        for name, step in _list_stage_steps(steps, stage).items():
            if step.seconds == 0 or not step.is_certain:
                continue
            cost = size.alone.get(name)
            n_bytes = _expect_bytes(name, stage, case, size) if cost is None else cost.n_bytes
            rows.append((name, stage, step.seconds, n_bytes))
    phases = pd.DataFrame(rows, columns=["phase", "stage", "seconds", "n_bytes"])
    left_out = [*plan.notes, *_list_unread(case, size)]
    return AuditCost(phases.set_index("phase"), left_out, size.n_shadows, size.may_grow)


def _list_stage_steps(steps, stage):
    """Return the steps of a stage by name; a stage that is one step has its own name."""
    named = steps if isinstance(steps, Mapping) else {stage: steps}
    return {
        name: one if isinstance(one, StageStep) else StageStep(float(one))
        for name, one in named.items()
    }


# Numbers of a record that the parts of an audit hold at once, about, and what all of them hold.
_NUMBERS = {"StackedAttack": 60, REPETITIONS: 100}
_OTHERS, _AT_LEAST = 10, 5e6


# Bytes of a record in an equation of a node, levels of a tree of unknown depth, and the most
# that a part of the attack on a file holds.
_OF_EQUATION, _USUAL_DEPTH, _MOST_OF_FILE = 12, 8, 1e9
_LOOKED_AT = 5


def _allow_file(case):
    if not isinstance(case.max_bytes, str):
        return case.bytes_allowed
    return min(case.bytes_allowed, _MOST_OF_FILE)


def _expect_equations(case):
    """Return the bytes of the equations of all trees of a model, 0 for models of other kinds."""
    found = find_model(case.victim)[0]
    parts = list_fitted_estimators(found)
    trees = [tree for one in parts for tree in list_fitted_estimators(one) or [one]]
    n_trees = len(trees)
    if not n_trees and hasattr(found, "n_trees_per_iteration_"):
        n_trees = found.n_iter_ * found.n_trees_per_iteration_
    elif not n_trees and hasattr(found, "get_booster"):
        n_trees = found.get_booster().num_boosted_rounds()
    depths = [tree.get_depth() for tree in trees[:_LOOKED_AT] if hasattr(tree, "get_depth")]
    depth = np.mean(depths) if depths else _USUAL_DEPTH
    return float(_OF_EQUATION * len(case.records) * n_trees * depth)


def _list_unread(case, size):
    """Say that some of the trees of a file will not be read."""
    held = _expect_equations(case) if size.has_file else 0.0
    if held <= _allow_file(case):
        return []
    size, allowed = format_apart(format_bytes, held, _allow_file(case))
    return [
        "The attack on the file will leave out some of the trees: all of their equations are about "
        f"{size}, and {allowed} are allowed."
    ]


def _expect_bytes(name, stage, case, size):
    """About what a part of an audit holds at once."""
    n, table = size.n_records, count_table_bytes(case.records.X)
    answers = 8.0 * n * size.n_classes
    if name == stage == SHADOWS:
        # Signals of all models, twice while they may grow; a training set and the answers of one.
        kept = 4.0 * n * size.n_shadows * (2 if size.may_grow else 1)
        return _AT_LEAST + kept + size.n_workers * (table / 2 + 3 * answers)
    if stage == AS_FILE:
        held = _AT_LEAST + 3.0 * table + 4 * answers + _expect_equations(case)
        return min(held, _allow_file(case))
    asked = [check for check in EACH_CHECK if name in (check.name, check.part)]
    costs = [expect_check(check, size.table).n_bytes for check in asked]
    if name == REPETITIONS:
        n = min(n, MOST_REPEATED)
    return _AT_LEAST + max(costs, default=8.0 * n * _NUMBERS.get(name, _OTHERS))
