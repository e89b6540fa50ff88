"""Types that many signatures share."""

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator


class NamedAlternatives:
    """Alternatives in the words that people know, as ``help`` and tooltips show them.

    What numpy calls array-like is six lines of nested types when it is printed, and classes of
    other libraries are printed with the file that they are in.
    """

    def __init__(self, *parts):
        self.parts = parts

    def __or__(self, other):
        return NamedAlternatives(*self.parts, other)

    def __ror__(self, other):
        return NamedAlternatives(other, *self.parts)

    def __repr__(self):
        return " | ".join(map(_name_type, self.parts))


def _name_type(part):
    if part is None or isinstance(part, str):
        return str(part)
    return part.__name__ if isinstance(part, type) else repr(part).replace("typing.", "")


# A type checker reads what the names stand for.
if TYPE_CHECKING:
    import torch
    from numpy.random import Generator as Generator
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import DTypeLike as DTypeLike
    from scipy import sparse
    from sklearn.frozen import FrozenEstimator as Frozen

    # Rows of features, in any form in which a model may take them: tables are array-like.
    Rows: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix | torch.Tensor
    # What cv may be, apart from None.
    Splitter: TypeAlias = int | BaseCrossValidator
else:
    ArrayLike = NamedAlternatives("array-like")
    Rows = NamedAlternatives("array-like", "sparse matrix", "Tensor")
    DTypeLike = NamedAlternatives("dtype-like")
    Frozen = NamedAlternatives(FrozenEstimator)
    Generator = NamedAlternatives(np.random.Generator)
    Splitter = NamedAlternatives(int, BaseCrossValidator)

# What random_state may be.
Seed: TypeAlias = int | np.random.RandomState | None

# A float for numbers and an array for arrays; a union would have to be taken apart at every use.
FloatOrArray: TypeAlias = Any

PathLike: TypeAlias = str | os.PathLike[str]


class LazyTable(Protocol):
    """A lazy frame of polars, a dask frame or a data set of Arrow, of which rows are read."""

    def head(self, *args: Any, **kwargs: Any) -> Any: ...


class TokenModel(Protocol):
    """What is asked of a sequence model, whatever its class."""

    def next_log_proba(self, prefixes: np.ndarray, /) -> ArrayLike:
        """Return log-probabilities of the next token."""
        ...
