"""Scores of non-members, from shadow models that are treated as the victim."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.records import Records
from .._core.validation import check_records
from ..base import treats_models_as_victims

# Of large pools some models are treated as the victim: as many as give so many scores, and not
# fewer than these.
_MOST_SCORES, _FEWEST_MODELS = 4_000_000, 8


def choose_models(attack, n_records):
    """Choose the shadow models that are treated as the victim, evenly over the pool."""
    n_models = len(attack.pool_.membership_)
    wanted = int(np.clip(_MOST_SCORES // n_records, _FEWEST_MODELS, n_models))
    wanted = min(wanted, n_models)
    return np.unique(np.linspace(0, n_models - 1, wanted).astype(int))


def shadow_nonmember_scores(attack: BaseEstimator, X: Records) -> np.ndarray:
    """Compute the scores of non-members, from shadow models that are treated as the victim.

    Each shadow model is attacked with the others, and the scores of the records that it was not
    trained on are returned. They calibrate p-values and lists of members if no non-members of the
    victim are known.

    Parameters
    ----------
    attack : attack
        Fitted attack that compares the victim with shadow models and can be repeated on them, such
        as :class:`LiRA` or :class:`RMIA`.
    X : Records of n records
        Records of the pool.

    Returns
    -------
    scores : ndarray of shape (m,)
        Scores of all records by all models that were not trained on them; by some of the models if
        there are more than four million.

    Raises
    ------
    TypeError
        If the attack cannot be repeated on shadow models.
    ValueError
        If the pool has too few models.

    See Also
    --------
    skmia.metrics.list_members : Lists members, calibrated by such scores.
    attack_people : The same for people with several records.

    Notes
    -----
    A p-value from these scores holds if the victim behaves as a shadow model does: trained in the
    same way, on as many records from the same population. To check that, compute the p-values of
    some known non-members: a share of at most ``alpha`` of them should be at most ``alpha``. The
    scores of the attack should be comparable between records, as the scores of :class:`LiRA` are.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA, shadow_nonmember_scores
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.metrics import list_members
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=16, random_state=0).fit(records)
    >>> attack = LiRA(FrozenEstimator(model), FrozenEstimator(pool)).fit(records)
    >>> nonmembers = shadow_nonmember_scores(attack, records)
    >>> nonmembers.shape
    (8000,)
    >>> scores = attack.score_samples(records)
    >>> listed = list_members(scores, nonmembers, false_share=0.1, from_shadows=True)
    >>> bool(membership[listed.positions].mean() > 0.9)
    True
    """
    check_is_fitted(attack)
    records = check_records(X)
    if not treats_models_as_victims(attack):
        raise TypeError(
            "attack must compare the victim with shadow models that can take its place; got "
            f"{type(attack).__name__}."
        )
    models = choose_models(attack, len(records))
    found = [
        scores[judged & ~inside]
        for _, scores, inside, judged in attack.score_left_out(records, models)
    ]
    return np.concatenate(found)
