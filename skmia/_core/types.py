"""Types that many signatures share."""

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator

if TYPE_CHECKING:
    import torch

# What random_state may be.
Seed: TypeAlias = int | np.random.RandomState | None

# Rows of features, in any form in which a model may take them: pandas tables are array-like.
Rows: TypeAlias = "ArrayLike | sparse.sparray | sparse.spmatrix | torch.Tensor"

# What cv may be, apart from None.
Splitter: TypeAlias = int | BaseCrossValidator

# A float for numbers and an array for arrays; a union would have to be taken apart at every use.
FloatOrArray: TypeAlias = Any

PathLike: TypeAlias = str | os.PathLike[str]


class TokenModel(Protocol):
    """What is asked of a sequence model, whatever its class."""

    def next_log_proba(self, prefixes: np.ndarray, /) -> ArrayLike:
        """Return log-probabilities of the next token."""
        ...
