"""Insertion of canaries into training data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import show, to_array
from .._core.randomness import check_random_state
from .._core.types import Seed

_MOST_INSERTED = 100_000_000  # more sequences have no place in memory


def insert_canaries(
    sequences: np.ndarray | Sequence[Any],
    canaries: ArrayLike | Sequence[Any],
    n_insertions: ArrayLike | int = 1,
    *,
    random_state: Seed = None,
) -> np.ndarray | list:
    """Insert copies of canaries at random positions among training sequences.

    Parameters
    ----------
    sequences : ndarray of shape (n, length), or sequence of n sequences
        Training sequences: tokens or texts, of any lengths.
    canaries : array-like of shape (n_canaries, length), or sequence of n_canaries sequences
        Canaries of the same kind.
    n_insertions : int or array-like of shape (n_canaries,), default=1
        Number of copies of each canary; 0 leaves it out.
    random_state : int, RandomState instance or None, default=None
        Controls the positions.

    Returns
    -------
    training : ndarray of shape (n + n_copies, length), or list
        An array where ``sequences`` is one and the canaries have its length. The training sequences
        stay in their order.

    Raises
    ------
    ValueError
        If the numbers of insertions do not fit the canaries, are negative or add up to more than
        100 million.

    See Also
    --------
    Exposure : Exposure of canaries after training.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security.

    Examples
    --------
    >>> from skmia.memorization import insert_canaries
    >>> insert_canaries(["to be", "or not"], ["pin 1234"], 2, random_state=1)
    ['to be', 'or not', 'pin 1234', 'pin 1234']
    """
    if isinstance(canaries, str):
        raise ValueError(f"Expected a sequence of canaries; got a single text, {canaries!r}.")
    if not np.iterable(canaries):
        raise ValueError(f"canaries must be a sequence of sequences; got {show(canaries)}.")
    canaries = list(canaries)
    copies = to_array(n_insertions, "n_insertions", "be a whole number, or one for each canary")
    whole = copies.dtype.kind in "iu" and (copies >= 0).all()
    if not whole or copies.shape not in ((), (len(canaries),)):
        raise ValueError(
            f"n_insertions must be a whole number of 0 and above, or one for each of "
            f"{len(canaries)} canaries; got {show(n_insertions)}."
        )
    n_inserted = float(np.broadcast_to(copies, len(canaries)).astype(np.float64).sum())
    if n_inserted > _MOST_INSERTED:
        raise ValueError(
            f"n_insertions must add up to at most {_MOST_INSERTED:,}; got {n_inserted:,.0f}."
        )
    rng = check_random_state(random_state)
    chosen = np.repeat(np.arange(len(canaries)), np.broadcast_to(copies, len(canaries)))
    n_training = len(sequences) + len(chosen)
    places = rng.choice(n_training, len(chosen), replace=False)
    source = np.empty(n_training, dtype=np.intp)
    source[np.delete(np.arange(n_training), places)] = np.arange(len(sequences))
    source[places] = len(sequences) + chosen
    together = [*sequences, *canaries]
    training = [together[number] for number in source]
    if (
        isinstance(sequences, np.ndarray)
        and len({np.shape(sequence) for sequence in together}) == 1
    ):
        try:
            return np.stack(training).astype(sequences.dtype, copy=False)
        except (TypeError, ValueError, OverflowError, RuntimeError):  # the last by tensors
            raise ValueError(
                f"canaries must be rows of tokens, as sequences are; got {show(canaries)}."
            ) from None
    return training
