"""Canaries: the space of their candidates, and their insertion into training data."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .._core.containers import table_to_rows
from .._core.numbers import check_number, show, to_array
from .._core.randomness import check_random_state
from .._core.types import ArrayLike, Seed
from ._model import check_sequences
from ._texts import warn_of_index

_LARGEST = np.iinfo(np.intp).max


def _check_sequence(value, name):
    """Refuse what has no order or no length."""
    is_sequence = isinstance(value, Sequence | np.ndarray) and not isinstance(value, bytes)
    if not is_sequence or (isinstance(value, np.ndarray) and value.ndim != 1):
        raise ValueError(f"{name} must be a text or a sequence of tokens; got {show(value)}.")


class CanaryFormat:
    """Candidate space of a canary: a sequence with holes, and the tokens that may fill them.

    Parameters
    ----------
    template : str, or sequence of int and None
        The sequence; its holes are the character ``hole`` in a text, else None.
    fill : str, or sequence of int
        Tokens that can fill a hole.
    alphabet : str, default=None
        The characters of a text, whose positions are their tokens. It is needed for texts, and only
        for them.
    hole : str, default="#"
        The character that marks a hole in a text.

    Attributes
    ----------
    choices : list of ndarray
        Tokens that are possible at each position, in increasing order.
    n_candidates : int
        Number of sequences that fit the format.
    n_given : int
        Number of tokens before the first hole, which all candidates share.

    Raises
    ------
    ValueError
        If the format has no hole or fewer than 2 tokens to fill it, or a character is not in the
        alphabet.

    See Also
    --------
    Exposure : Exposure of canaries among the candidates.

    Examples
    --------
    >>> from skmia.memorization import CanaryFormat
    >>> secrets = CanaryFormat("pin ####", "0123456789", alphabet="0123456789 pin")
    >>> secrets.n_candidates
    10000
    >>> secrets.decode(secrets.sample(2, random_state=0))
    ['pin 5373', 'pin 0395']
    >>> secrets.encode(["pin 1234"])
    array([[11, 12, 13, 10,  1,  2,  3,  4]])
    """

    def __init__(
        self,
        template: str | Sequence[int | None],
        fill: str | Sequence[int],
        *,
        alphabet: str | None = None,
        hole: str = "#",
    ) -> None:
        for name, value in (("template", template), ("fill", fill)):
            _check_sequence(value, name)
        if alphabet is not None:
            _check_sequence(alphabet, "alphabet")
        self.template, self.fill, self.alphabet, self.hole = template, fill, alphabet, hole
        is_hole = [
            token is None or (isinstance(template, str) and token == hole) for token in template
        ]
        if not any(is_hole):
            raise ValueError(
                f"template has no hole {hole!r}, or None in tokens; got {show(template)}."
            )
        filling = np.unique(self._tokens(fill))
        if len(filling) < 2:
            raise ValueError(f"fill must have 2 or more different tokens; got {show(fill)}.")
        self.choices = [
            filling if free else self._tokens([token] if token is not None else ())
            for token, free in zip(template, is_hole, strict=True)
        ]
        self.n_given = is_hole.index(True)
        self.n_candidates = len(filling) ** sum(is_hole)

    def _tokens(self, sequence):
        """Return one sequence, a text or tokens, as tokens."""
        if all(isinstance(token, str) for token in sequence) and len(sequence):
            if self.alphabet is None:
                raise ValueError("A text needs the alphabet that its tokens are numbered by.")
            unknown = sorted(set(sequence) - set(self.alphabet))
            if unknown:
                raise ValueError(f"The alphabet has no {unknown[0]!r}, which is in {sequence!r}.")
            return np.array([self.alphabet.index(token) for token in sequence])
        if isinstance(sequence, str) or not all(
            isinstance(token, Integral) and 0 <= token <= _LARGEST for token in sequence
        ):
            raise ValueError(f"Tokens are whole numbers of 0 and above; got {show(sequence)}.")
        return np.asarray(sequence, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.choices)

    def __repr__(self):
        return f"CanaryFormat({self.template!r}, {self.n_candidates} candidates)"

    def encode(self, sequences: ArrayLike) -> np.ndarray:
        """Return the tokens of texts of one length.

        Parameters
        ----------
        sequences : sequence of n str, or array-like of shape (n, length)
            Texts; tokens are checked and returned as they are.

        Returns
        -------
        tokens : ndarray of shape (n, length)
        """
        if isinstance(sequences, str):
            raise ValueError(f"Expected a sequence of texts; got a single one, {sequences!r}.")
        try:
            rows = [self._tokens(sequence) for sequence in table_to_rows(sequences)]
        except TypeError:  # not to be gone through
            rows = []
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"Sequences must be one or more of one length; got {show(sequences)}.")
        return np.array(rows)

    def decode(self, tokens: ArrayLike) -> list[str]:
        """Return the texts of tokens.

        Parameters
        ----------
        tokens : array-like of shape (n, length)
            Tokens.

        Returns
        -------
        texts : list of n str
        """
        if self.alphabet is None:
            raise ValueError("Texts need an alphabet; without one, the tokens are the sequence.")
        tokens = check_sequences(tokens, least=0)
        if tokens.max(initial=-1) >= len(self.alphabet):
            raise ValueError(
                f"The alphabet has tokens from 0 to {len(self.alphabet) - 1}; got {tokens.max()}."
            )
        return ["".join(self.alphabet[token] for token in row) for row in tokens]

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> np.ndarray:
        """Draw candidates uniformly and independently.

        Parameters
        ----------
        n_samples : int, default=1
            Number of candidates to draw.
        random_state : int, RandomState instance or None, default=None
            Controls the draws.

        Returns
        -------
        candidates : ndarray of shape (n_samples, length)
            Tokens.
        """
        check_number(n_samples, "n_samples", "an integer of 0 or more", 0, whole=True)
        rng = check_random_state(random_state)
        columns = [choice[rng.randint(len(choice), size=n_samples)] for choice in self.choices]
        return np.column_stack(columns)

    def position(self, sequences: ArrayLike) -> list[int]:
        """Positions of sequences in the enumeration of all candidates, the last hole fastest.

        Parameters
        ----------
        sequences : sequence of n str, or array-like of shape (n, length)
            Candidates.

        Returns
        -------
        position : list of n int

        Raises
        ------
        ValueError
            If one of them does not fit the format.
        """
        digits = self._read_choices(self.encode(sequences))
        # Python's integers: the space may be larger than any fixed number of bits.
        position = [0] * len(digits)
        for column, choice in zip(digits.T, self.choices, strict=True):
            pairs = zip(position, column, strict=True)
            position = [rank * len(choice) + int(digit) for rank, digit in pairs]
        return position

    def _read_choices(self, tokens):
        """Return which of the choices each token is."""
        wrong, digits = np.full(len(tokens), tokens.shape[1:] != (len(self),)), []
        for choice, column in zip(self.choices, tokens.T, strict=False):
            at = np.minimum(np.searchsorted(choice, column), len(choice) - 1)
            digits.append(at)
            wrong |= choice[at] != column
        if wrong.any():
            shown = tokens[0 if tokens.shape[1] != len(self) else wrong.argmax()]
            raise ValueError(f"The sequence {shown.tolist()} does not fit the format {self!r}.")
        return np.column_stack(digits)

    def candidates(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return some of the candidates, in the order of :meth:`position`.

        Parameters
        ----------
        start, stop : int, default=0, None
            Positions from 0 on. If `stop` is None, up to the end.

        Returns
        -------
        candidates : ndarray of shape (stop - start, length)
            Tokens.
        """
        stop = self.n_candidates if stop is None else stop
        for name, position in (("start", start), ("stop", stop)):
            check_number(position, name, "a position, an integer of 0 or more", 0, whole=True)
        stop = min(stop, self.n_candidates)
        # As of positions, some spaces are larger than any fixed number of bits.
        rest = np.arange(start, stop, dtype=object if stop > _LARGEST else np.intp)
        columns = []
        for choice in reversed(self.choices):
            columns.append(choice[(rest % len(choice)).astype(np.intp)])
            rest = rest // len(choice)
        return np.column_stack(columns[::-1])


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
    sequences : ndarray or table of shape (n, length), or sequence of n sequences
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
        An array where ``sequences`` is one, or a table, and the canaries have its length; its type
        is the one of ``sequences``, with texts as long as the longest. The training sequences stay
        in their order.

    Raises
    ------
    ValueError
        If the numbers of insertions do not fit the canaries, are negative or add up to more than
        100 million, or if the type of ``sequences`` cannot hold a canary.

    Warns
    -----
    UserWarning
        If the numbers of insertions have the index of the canaries in another order.

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
    for name, given in (("sequences", sequences), ("canaries", canaries)):
        if isinstance(given, str):
            raise ValueError(f"Expected a sequence of {name}; got a single text, {show(given)}.")
        if not np.iterable(given) or isinstance(given, Mapping):
            raise ValueError(f"{name} must be a sequence of sequences; got {show(given)}.")
    warn_of_index(canaries, "canaries", {"n_insertions": n_insertions})
    sequences, canaries = table_to_rows(sequences), list(table_to_rows(canaries))
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
    source = np.full(len(sequences) + len(chosen), -1)
    source[rng.choice(len(source), len(chosen), replace=False)] = len(sequences) + chosen
    source[source < 0] = np.arange(len(sequences))
    together = [*sequences, *canaries]
    training = [together[number] for number in source]
    shapes = {np.shape(sequence) for sequence in together}
    if isinstance(sequences, np.ndarray) and len(shapes) == 1:
        try:
            stacked = np.stack(training)
            cast = _cast_tokens(stacked, sequences.dtype)
        except (TypeError, ValueError, OverflowError, RuntimeError):  # the last by tensors
            raise ValueError(
                f"canaries must be rows of tokens, as sequences are; got {show(canaries)}."
            ) from None
        if cast is None:
            raise ValueError(
                f"canaries must be values of {sequences.dtype}, as sequences are; got "
                f"{show(canaries)}. Give sequences of a type that holds both."
            )
        return cast
    return training


def _cast_tokens(tokens, dtype):
    """Return tokens as values of a dtype, texts of any length; None if it has no such values."""
    if dtype.kind in "US":
        return tokens.astype(dtype.kind)
    with np.errstate(over="ignore", invalid="ignore"):
        cast = tokens.astype(dtype, copy=False)
    if tokens.dtype.kind == dtype.kind == "f":  # rounded to its digits
        is_same = np.isfinite(cast) == np.isfinite(tokens)
    else:
        is_same = cast == tokens
    return cast if np.all(is_same) else None
