"""How many permutations of membership a confidence level takes."""

import numpy as np

# Permutations take time: a confidence level that needs more of them than this is refused.
_MOST_PERMUTATIONS = 100_000
HIGHEST_LEVEL = 1 - 10 / _MOST_PERMUTATIONS


def count_permutations(confidence_level):
    """Number of permutations with which a p-value can fall well below one minus the level."""
    wanted = max(1000, int(np.ceil(10 / (1 - confidence_level) * (1 - 1e-9))))
    if wanted > _MOST_PERMUTATIONS:
        raise ValueError(
            f"confidence_level must be at most {HIGHEST_LEVEL:g} in an audit; at "
            f"{confidence_level!r} a finding would need {wanted:,} permutations of membership."
        )
    return wanted - 1
