"""Rounds of the membership game: with victims that are trained, or with the models of a pool."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._core.groups import ONE_NAME, mean_by_group, number_groups
from .._core.numbers import are_allowed_numbers, denullify, to_array
from .._core.records import warn_of_rows
from .._core.splits import number_units
from .._core.types import ArrayLike
from ..base import get_pool, treats_models_as_victims
from ._permutation import compute_exposure, sum_parts


class GroupGuesses(NamedTuple):
    """Guesses of an attack about the records of groups, in several rounds of a game.

    :class:`DisparityTest` takes them where the game has been played already.

    Attributes
    ----------
    guesses : array-like of shape (n_rounds, n)
        1 if the attack flags the record as a member in this round, else 0.
    membership : array-like of shape (n_rounds, n)
        1 if the record was in the training set of the round's victim, 0 if it was not, and -1 if
        the record took no part in the round.
    groups : array-like of shape (n,)
        Group of each record.
    people : array-like of shape (n,), default=None
        Person that each record belongs to. If None, each record has a person of its own.

    See Also
    --------
    skmia.games.membership_game : Returns guesses with ``return_guesses=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.disparity import DisparityTest, GroupGuesses
    >>> rng = np.random.default_rng(0)
    >>> membership = rng.integers(2, size=(20, 300))
    >>> guesses = np.where(rng.random((20, 300)) < 0.7, membership, 1 - membership)
    >>> test = DisparityTest(random_state=0)
    >>> test.fit(GroupGuesses(guesses, membership, rng.choice(["a", "b"], 300))).reject_
    False
    """

    guesses: ArrayLike
    membership: ArrayLike
    groups: ArrayLike
    people: ArrayLike | None = None


class PlayedRounds(NamedTuple):
    """Checked guesses, with numbers in place of names."""

    guesses: np.ndarray
    membership: np.ndarray
    names: np.ndarray
    codes: np.ndarray
    people: np.ndarray


def _warn_of_columns(given):
    """Warn if values of pandas name the records of the guesses in another order."""
    columns = getattr(given.guesses, "columns", None)
    what, own = "columns of guesses", {"groups": given.groups, "people": given.people}
    warn_of_rows(columns, own, what, "guesses.columns")
    if isinstance(given.membership, pd.DataFrame):
        warn_of_rows(columns, {"membership": given.membership.T}, what, ":, guesses.columns")


def read_guesses(given):
    """Check guesses and number their groups and people."""
    _warn_of_columns(given)
    must = "be an array of shape (n_rounds, n)"
    guesses = denullify(to_array(given.guesses, "guesses", must))
    membership = denullify(to_array(given.membership, "membership", must))
    if guesses.ndim != 2 or guesses.shape != membership.shape or not len(guesses):
        raise ValueError(
            "guesses and membership must be arrays of one shape (n_rounds, n), with a round or "
            f"more; got {guesses.shape} and {membership.shape}."
        )
    if not are_allowed_numbers(membership, (-1, 0, 1)):
        raise ValueError("membership must be 1, 0, or -1 for a record that took no part.")
    if not are_allowed_numbers(guesses[membership >= 0], (0, 1)):
        raise ValueError("guesses must be 1 or 0 wherever a record took part.")
    n_records = guesses.shape[1]
    names, codes = number_groups(given.groups, n_records, "groups", ONE_NAME)
    if len(names) < 2:
        raise ValueError(f"There must be at least 2 groups to compare; got {len(names)}.")
    people = np.arange(n_records)
    if given.people is not None:
        people = number_groups(given.people, n_records, "people")[1]
    return PlayedRounds(guesses, membership, names, codes, people)


def number_people(records, groups):
    """Number the sets of records that have a group together.

    Records with one value of group_by are a person. Equal records are one person as well, but not
    if equal records have different groups: the group then does not follow from the record.
    """
    group_by = records.fields.get("group_by")
    copies = number_units(records.fingerprint)
    codes = number_groups(groups, len(records), "group", ONE_NAME)[1]
    both = np.unique(np.column_stack([copies, codes]), axis=0)
    if len(both) == copies.max() + 1:
        return number_units(records.fingerprint, group_by)
    return np.arange(len(records)) if group_by is None else number_groups(group_by, len(records))[1]


def tabulate_groups(played):
    """Return the vulnerability of each group in each round.

    NaN where it has no member or no non-member.

    Return table of shape (n_rounds, n_groups).
    """
    n_groups = len(played.names)
    rates = []
    for role in (1, 0):
        rows = [
            mean_by_group(guesses[inside == role] == 1, played.codes[inside == role], n_groups)
            for guesses, inside in zip(played.guesses, played.membership, strict=True)
        ]
        rates.append(np.array(rows))
    index = pd.RangeIndex(len(played.guesses), name="round")
    return pd.DataFrame(rates[0] - rates[1], index, pd.Index(played.names, name="group"))


def read_exposures(played):
    """Return the exposures of the records of each group, summed for each person."""
    exposure = compute_exposure(played.guesses, played.membership)
    known = np.bincount(played.codes[~np.isnan(exposure)], minlength=len(played.names))
    if not known.all():
        raise ValueError(
            f"No record of group {str(played.names[known.argmin()])!r} was a member in one round "
            "and a non-member in another; play more rounds."
        )
    return sum_parts(exposure, played.codes, played.people)


def _refuse_numbers(groups, n_records):
    """Refuse groups of about one record each, as of a column of numbers, before any training."""
    n_groups = len(number_groups(groups, n_records, "group", ONE_NAME)[0])
    if n_groups > n_records / 2:
        raise ValueError(
            f"group has {n_groups} different values for {n_records} records, too many to be "
            "compared. Put several in one group, numbers into intervals (pandas.qcut)."
        )


def play(test, records, groups):
    # -> game: result of membership_game, without the guesses; None if no victim was trained
    people = number_people(records, groups)
    _refuse_numbers(groups, len(records))
    records = records.detached()
    if test.estimator is None and treats_models_as_victims(test.attack):
        pool = get_pool(test.attack, records)
        attack = clone(test.attack).set_params(shadows=pool)
        guesses, membership = play_pool(attack.fit(records), records, test.n_rounds)
        return None, GroupGuesses(guesses, membership, groups, people)
    game = _train_and_play(test, records, groups)
    return game, GroupGuesses(game.pop("guesses"), game.pop("membership"), groups, people)


def _train_and_play(test, records, groups):
    from ..games import membership_game

    for name in ("estimator", "attack"):
        if getattr(test, name) is None:
            raise ValueError(
                f"{name} is needed to play the game on records; without it, fit takes guesses, or "
                "records with an attack on a pool of shadow models. A table of vulnerabilities is "
                "tested by DisparityTest.from_table(table)."
            )
    names = "n_rounds train_size test_size reference_size n_jobs verbose random_state".split()
    settings = {name: getattr(test, name) for name in names}
    given = test.estimator, test.attack, records
    return membership_game(*given, groups=groups, return_guesses=True, **settings)


def play_pool(attack, records, n_rounds):
    """Treat the models of a pool as the victim in turn, one of each complementary pair.

    Return guesses, membership of shape (n_rounds, n): as of GroupGuesses; -1 for records that the
    other models cannot judge. All rounds have the threshold of the attack, which the rule of its
    scores gives, or ``_natural_offset`` in ``base/_pool_attack.py`` chose on models of this pool.
    """
    partners = attack.pool_.design_.partners
    models = np.arange(len(partners))
    # The other one of a pair has the same split.
    models = models[(partners < 0) | (partners > models)][:n_rounds]
    guesses = np.full((len(models), len(records)), -1, dtype=np.int8)
    membership = guesses.copy()
    for rows, scores, inside, judged in attack.score_left_out(records, models):
        guesses[:, rows] = np.where(judged, scores >= attack.offset_, -1)
        membership[:, rows] = np.where(judged, inside, -1)
    return guesses, membership
