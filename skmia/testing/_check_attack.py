"""Checks of attacks, for authors of new attacks."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from .._core.copies import copy_unfitted
from .._core.kinds import is_regressor
from .._core.query import refuse_class
from .._core.records import Records
from .._core.types import ArrayLike, Frozen, Seed
from .._core.validation import check_membership, check_records
from ..shadow import ShadowPool
from ._attack_checks import ATTACK_CHECKS, SharedFits

if TYPE_CHECKING:
    import pytest


class AttackProblem(NamedTuple):
    """What an attack and its checks need, as returned by :func:`make_attack_problem`.

    Attributes
    ----------
    victim : FrozenEstimator
        Model fitted on the members.
    shadows : FrozenEstimator
        Shadow pool fitted on all records.
    records : Records of n records
        Members and non-members mixed.
    membership : ndarray of shape (n,)
        1 for members, 0 for non-members.
    """

    victim: Frozen
    shadows: Frozen
    records: Records
    membership: np.ndarray


def make_attack_problem(
    estimator: BaseEstimator | None = None,
    *,
    n_records: int = 60,
    n_estimators: int = 8,
    store: Literal["signals", "outputs", "models"] = "models",
    random_state: Seed = 0,
) -> AttackProblem:
    """Make a small victim, shadow pool and records to check an attack on.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        Estimator of the victim and the shadow models. If None, a small decision tree, whose
        probabilities are exactly 0 or 1.
    n_records : int, default=60
        Number of records, half of them members.
    n_estimators : int, default=8
        Number of shadow models, even.
    store : {"signals", "outputs", "models"}, default="models"
        What the pool keeps, see :class:`~skmia.ShadowPool`.
    random_state : int, RandomState instance or None, default=0
        Controls records, members and shadow models.

    Returns
    -------
    problem : AttackProblem
        Named tuple of ``victim`` (fitted and frozen), ``shadows`` (a fitted and frozen pool),
        ``records`` (five features; strings as labels, real numbers for a regressor; a field
        ``group``) and ``membership`` (ndarray of 0 and 1).

    Examples
    --------
    >>> from skmia.testing import make_attack_problem
    >>> victim, shadows, records, membership = make_attack_problem()
    >>> records
    Records(60 records, X=ndarray(60, 5), float64, y=<U6, fields=group)
    """
    rng = check_random_state(random_state)
    if estimator is None:
        estimator = DecisionTreeClassifier(max_depth=4, random_state=0)
    X, classes = make_classification(
        n_records, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.2, random_state=rng
    )
    labels = np.array(["spam", "ham", "unsure"])[classes]
    y = X[:, 0] + rng.normal(size=n_records) if is_regressor(estimator) else labels
    records = Records(X, y, group=np.where(rng.uniform(size=n_records) < 0.5, "a", "b"))
    membership = rng.permutation(np.arange(n_records) % 2)
    members = records[membership == 1]
    victim = copy_unfitted(estimator).fit(members.X, members.y)
    seed = rng.randint(np.iinfo(np.int32).max)
    pool = ShadowPool(estimator, n_estimators, store=store, random_state=seed).fit(records)
    return AttackProblem(FrozenEstimator(victim), FrozenEstimator(pool), records, membership)


@dataclass(frozen=True)
class _BoundCheck:
    """One question together with the records on which it is asked."""

    function: object
    records: Records
    membership: np.ndarray
    fits: SharedFits

    @property
    def name(self):
        return self.function.__name__

    def __call__(self, attack):
        ways = getattr(self.function, "ways", None)
        try:
            for own in [attack] if ways is None else self.fits.get(attack, ways):
                self.function(own, self.records, self.membership)
        except AssertionError as failure:
            raise AssertionError(f"{type(attack).__name__}, {self.name}: {failure}") from None
        except Exception as error:
            raise AssertionError(
                f"{type(attack).__name__}, {self.name}: {type(error).__name__}: {error}"
            ) from error


def _bind_checks(records, membership, expected_failed_checks):
    """Return all checks, and the reasons why some of them are expected to fail."""
    expected = dict(expected_failed_checks or {})
    known = [function.__name__ for function in ATTACK_CHECKS]
    for name in expected:
        if name not in known:
            raise ValueError(f"Unknown check {name!r}; the checks are {', '.join(known)}.")
    check_records(records)
    records._warn_of_rows({"membership": membership})
    membership = check_membership(membership, len(records)).astype(int)
    shared = records, membership, SharedFits(records, membership)
    return [_BoundCheck(function, *shared) for function in ATTACK_CHECKS], expected


def check_attack(
    attack: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    expected_failed_checks: dict[str, str] | None = None,
) -> None:
    """Check that an attack meets the contract of all attacks.

    The checks correspond to scikit-learn's ``check_estimator`` for estimators of matrices: whether
    the constructor only assigns, clones and pickles work, fitting twice changes nothing, no input
    is changed, scores do not depend on the batch and are finite, members do not score significantly
    lower than non-members, ``score`` is the advantage, bad input is refused with a sentence, and
    Pipeline, GridSearchCV, cross_val_predict, StackingClassifier and CalibratedClassifierCV can
    hold it. What ``attack.needs()`` declares is withheld in turn, and the attack must then fail;
    what it does not declare is also withheld, and the attack must then work.

    Parameters
    ----------
    attack : attack
        Unfitted attack, with the victim and the pool that it needs as parameters. It is cloned.
    records : Records of n records
        Records that suit the victim and belong to the pool.
    membership : array-like of shape (n,)
        1 for the victim's members, 0 for non-members.
    expected_failed_checks : dict of str to str, default=None
        Names of checks to leave out, each with the reason.

    Raises
    ------
    AssertionError
        If a check fails, with a sentence that names the first failure.
    TypeError, ValueError
        If ``records`` or ``membership`` are not what an attack is fitted on, or
        ``expected_failed_checks`` holds an unknown name.

    See Also
    --------
    make_attack_problem : Function that makes a victim, a pool and records.
    parametrize_with_attack_checks : Decorator that runs the checks as separate tests.

    Notes
    -----
    The checks, in the order in which they run; each name begins with ``check_attack_``:

    * constructor, clones, fitting and state: ``init_only_assigns``, ``get_set_params``,
      ``validates_parameters``, ``clones``, ``spares_fitted_models``, ``tags``,
      ``fit_returns_self``, ``fit_keeps_parameters``, ``fit_is_idempotent``,
      ``forgets_earlier_fits``, ``fitted_attributes``, ``needs_fit``, ``pickles``,
      ``leaves_its_input_alone``, ``scoring_keeps_its_state``, ``is_reproducible``, ``n_jobs``,
      ``unfitted_victim``;
    * what ``needs()`` declares: ``needs``, ``reads``, ``access``, ``keeps``, ``lacks``;
    * what the numbers mean: ``classes``, ``scores_are_finite``, ``can_judge``,
      ``certain_victim``, ``decision_function``, ``predict``, ``score_is_advantage``,
      ``offset_is_best``, ``scores_point_to_members``, ``predict_proba``, ``permutation``,
      ``one_record``, ``subset``;
    * bad input: ``refuses_a_matrix``, ``refuses_no_labels``, ``refuses_no_records``,
      ``refuses_bad_membership``, ``refuses_no_membership``, ``refuses_an_unknown_label``,
      ``membership_forms``;
    * tools of scikit-learn: ``in_pipeline``, ``in_grid_search``, ``in_cross_val_predict``,
      ``in_stacking``, ``in_calibration``.

    Whether a higher score means more likely a member is only seen where the victim leaks. An attack
    fails ``scores_point_to_members`` if its AUC is so far below 0.5 that an attack without power
    would fail at most once in 10,000 problems; with the 60 records of
    :func:`make_attack_problem` that is an AUC below 0.22.

    Examples
    --------
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.testing import check_attack, make_attack_problem
    >>> victim, shadows, records, membership = make_attack_problem()
    >>> check_attack(ThresholdAttack(victim), records, membership)
    """
    refuse_class(attack, "attack")
    checks, expected = _bind_checks(records, membership, expected_failed_checks)
    for check in checks:
        if check.name not in expected:
            check(attack)


def parametrize_with_attack_checks(
    attacks: Sequence[BaseEstimator],
    records: Records,
    membership: ArrayLike,
    *,
    expected_failed_checks: Callable[[BaseEstimator], dict[str, str]] | None = None,
) -> "pytest.MarkDecorator":
    """Return a decorator that makes one test of each attack and check, for pytest.

    Parameters
    ----------
    attacks : sequence of attacks
        As for :func:`check_attack`.
    records : Records of n records
        As for :func:`check_attack`.
    membership : array-like of shape (n,)
        As for :func:`check_attack`.
    expected_failed_checks : callable, default=None
        Takes an attack and returns a dict from the names of checks that it is expected to fail to
        the reasons; these tests are marked as expected failures.

    Returns
    -------
    decorator : pytest.MarkDecorator
        For a test function with the arguments ``attack`` and ``check``, which calls
        ``check(attack)``.

    See Also
    --------
    check_attack : Runs all checks at once.

    Examples
    --------
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.testing import make_attack_problem, parametrize_with_attack_checks
    >>> victim, shadows, records, membership = make_attack_problem()
    >>> @parametrize_with_attack_checks([ThresholdAttack(victim)], records, membership)
    ... def test_my_attack(attack, check):
    ...     check(attack)
    """
    import pytest  # a dependency of those who test only

    cases = []
    for attack in attacks:
        given = None if expected_failed_checks is None else expected_failed_checks(attack)
        checks, expected = _bind_checks(records, membership, given)
        for check in checks:
            reason = expected.get(check.name)
            marks = () if reason is None else pytest.mark.xfail(reason=reason)
            identifier = f"{_name_attack(attack)}-{check.name}"
            cases.append(pytest.param(attack, check, marks=marks, id=identifier))
    return pytest.mark.parametrize("attack, check", cases)


def _name_attack(attack):
    """Return the class and changed settings of an attack, short enough for the name of a test."""
    shown = []
    for name, parameter in inspect.signature(type(attack)).parameters.items():
        value, default = getattr(attack, name), parameter.default
        plain = isinstance(value, str | int | float | tuple | list)
        # Texts are compared, as a list can hold arrays.
        is_usual = value is default or (plain and repr(value) == repr(default))
        if name in ("victim", "shadows") or is_usual:
            continue
        shown.append(f"{name}={value if plain else type(value).__name__}")
    return f"{type(attack).__name__}({','.join(shown)})"
