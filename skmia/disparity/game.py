"""Rounds of the membership game: with victims that are trained, or with the models of a pool."""

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ..base import get_pool, treats_models_as_victims
from .guesses import GroupGuesses, number_people


def play(test, records, groups):
    """Play the game of a test.

    Parameters
    ----------
    test : DisparityTest
        Test with an attack.
    records : Records of n records
    groups : ndarray of shape (n,)
        Group of each record.

    Returns
    -------
    game : dict or None
        Result of :func:`membership_game`, without the guesses; None if no victim was trained.
    guesses : GroupGuesses

    Raises
    ------
    ValueError
        If the attack is missing, or both an estimator and an attack on a pool are.
    """
    people = number_people(records, groups)
    if test.estimator is None and treats_models_as_victims(test.attack):
        pool = get_pool(test.attack.shadows, records)
        attack = clone(test.attack).set_params(shadows=FrozenEstimator(pool))
        guesses, membership = play_pool(attack.fit(records), records, test.n_rounds)
        return None, GroupGuesses(guesses, membership, groups, people)
    game = _train_and_play(test, records)
    return game, GroupGuesses(game.pop("guesses"), game.pop("membership"), groups, people)


def _train_and_play(test, records):
    from ..games import membership_game

    for name in ("estimator", "attack"):
        if getattr(test, name) is None:
            raise ValueError(
                f"{name} is needed to play the game on records; without it, fit takes guesses, a "
                "table of vulnerabilities, or records with an attack on a pool of shadow models."
            )
    return membership_game(
        test.estimator,
        test.attack,
        records,
        groups=test.group,
        n_rounds=test.n_rounds,
        train_size=test.train_size,
        test_size=test.test_size,
        reference_size=test.reference_size,
        n_jobs=test.n_jobs,
        verbose=test.verbose,
        random_state=test.random_state,
        return_guesses=True,
    )


def play_pool(attack, records, n_rounds):
    """Treat the models of a pool as the victim in turn, one of each complementary pair.

    Parameters
    ----------
    attack : fitted PoolAttack
        Attack on a pool of at least 4 shadow models.
    records : Records of n records
    n_rounds : int
        Maximum number of models to attack.

    Returns
    -------
    guesses, membership : ndarray of shape (n_rounds, n), dtype int8
        As of :class:`GroupGuesses`; -1 for records that the other models cannot judge.
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
