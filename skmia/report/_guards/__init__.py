"""What can make an audit say more, or less, than is true, and how to see it."""

from ._baseline import blind_baseline
from ._duplicates import Duplicates, find_duplicates
from ._permutation import PermutationResult, permutation_test

__all__ = [
    "Duplicates",
    "PermutationResult",
    "blind_baseline",
    "find_duplicates",
    "permutation_test",
]
