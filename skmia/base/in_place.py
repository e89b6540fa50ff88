"""Attacks as parts of another one: fitted without a threshold, with models as the victim."""


def fit_without_threshold(attack, pool, records):
    """Fit what the shadow models determine of an attack.

    Parameters
    ----------
    attack : PoolAttack
        Unfitted attack, which gets the pool.
    pool : ShadowPool
        Fitted pool.
    records : Records of n records
        Records of the pool.
    """
    attack.shadows = pool
    attack._fit_shadows(records)


def score_in_place(attack, shadows, inside, models, others, judged):
    """Score a block of records with models treated as the victim.

    Parameters
    ----------
    attack : PoolAttack
        Fitted attack, without what these models contribute.
    shadows : ndarray of shape (n_queries, n_estimators, n)
        What the attack reads of the pool.
    inside : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    models : ndarray of shape (n_chosen,)
        Numbers of the models treated as the victim.
    others : ndarray of shape (n_chosen, n) or (n_chosen, 1)
        Models that leave with them.
    judged : ndarray of shape (n_chosen, n), dtype bool
        Where the remaining models suffice.

    Returns
    -------
    scores : ndarray of shape (n_chosen, n)
        Neutral where the remaining models do not suffice.
    """
    return attack._score_judged(shadows, inside, models, others, judged)
