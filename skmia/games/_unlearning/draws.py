"""Which records each model is trained on, and which of them it is to forget."""

import numpy as np

NEVER, RETAINED, FORGOTTEN = 0, 1, 2


def draw_sides(units, forget, n_models, n_targets, seeds):
    """Draw the sides of all records for shadow models, then for target models.

    Each model is trained on a random half of the units, and a random part of the half is to be
    forgotten. Given the units that stay, the forgotten ones are a random part of all others, so an
    exact way of forgetting leaves nothing to find: no strata are kept apart. Shadow models come in
    pairs with complementary halves; target models are drawn independently.

    Parameters
    ----------
    units : ndarray of shape (n,)
        Unit of each record, from 0. Records of one unit are on one side.
    forget : float
        Share of the units of a model that it is to forget.
    n_models, n_targets : int
        Numbers of shadow and of target models.
    seeds : SeedSequence
        Source of randomness.

    Returns
    -------
    sides : ndarray of shape (n_models + n_targets, n), dtype int8
        ``NEVER``, ``RETAINED`` or ``FORGOTTEN``.

    Raises
    ------
    ValueError
        If fewer than two units would be forgotten.
    """
    n_units = int(units.max()) + 1
    n_members = n_units // 2
    n_forgotten = round(forget * n_members)
    if not 2 <= n_forgotten <= n_members - 2:
        some = "" if n_units == len(units) else f" in {n_units:,} indivisible groups"
        raise ValueError(
            f"forget={forget:g} of the {n_members:,} training records of a model{some} is "
            f"{n_forgotten:,}; at least 2 must be forgotten and 2 must stay."
        )
    rng = np.random.default_rng(seeds)
    sides = np.zeros((n_models + n_targets, n_units), dtype=np.int8)
    order = np.arange(n_units)
    for k, row in enumerate(sides):
        is_partner = k % 2 and k < n_models
        order = order[::-1] if is_partner else rng.permutation(n_units)
        members = rng.permutation(order[:n_members])
        row[members] = RETAINED
        row[members[:n_forgotten]] = FORGOTTEN
    return sides[:, units]
