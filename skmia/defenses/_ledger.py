"""A file in which private fits are written down, and what they cost together."""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from .._core.accountant import ORDERS, total_epsilon
from .._core.copies import RememberedFacts
from .._core.escaping import visible
from .._core.files import locked, write_atomically, write_bytes
from .._core.metric_inputs import check_option
from .._core.numbers import check_count, check_number, show
from .._core.types import ArrayLike

# The file has a first line, two lines of a fixed width that take turns to say how many fits follow,
# and a line for each fit with a digest of itself and of all lines before it. A fit is there when
# its line has been written and then its number. What a process leaves that ends between the two, or
# within a line, is beyond the last number: no step of such a fit was made.
_FORMAT, _VERSION, _WIDTH = "private fits of skmia", 2, 128

# The kind of a line of a search whose choice is private.
_SEARCH = "search"
# A training, one whose first weights were declared to be public, and the noise of mechanisms.
_FITS, _NOISES = ("fit", "fit from public weights"), ("normal", "laplace")

_COLUMNS = ("kind", "noise_multiplier", "sample_rate", "n_steps", "n_rows")

# Noise below this has no finite epsilon in double precision.
_LEAST_NOISE = 1e-100

# Share of a limit by which a sum may differ by rounding.
_ROUNDING = 1e-9

_TINY = float(np.nextafter(0, 1))


class _LedgerMark(NamedTuple):
    """What is remembered of a ledger, to notice that it is another one or has fewer fits."""

    identity: str
    began: str
    n_fits: int
    digest: str


class _LedgerContent(NamedTuple):
    """What a ledger holds."""

    identity: str
    began: str
    fits: list[dict[str, Any]]
    digests: list[str]  # after no fit, one, two, ...
    content: bytes  # all whole lines
    older: int  # place of the older of its two numbers

    def mark(self):
        return _LedgerMark(self.identity, self.began, len(self.fits), self.digests[-1])


@dataclass(frozen=True)
class PrivacyLedger:
    """File that records the releases of private estimators and computes their total cost.

    ``epsilon_`` of an estimator is the cost of one fit. A search, cross-validation, a pool of
    shadow models or an audit runs many fits on the same rows. Each fit with this ledger is recorded
    in the file before its first step, so fits that fail or are interrupted also count. Fits of
    clones and in other processes are recorded in the same file. Mechanisms record each call of
    ``transform``.

    Parameters
    ----------
    path : str or path-like
        Path of the file, which is created by the first fit; a relative path is made absolute at
        once. Use one file for each table of private rows. Next to it, a file with the ending
        ``.count`` stores the number of fits.
    max_epsilon : float, default=None
        Budget, in nats. A fit that would exceed it is refused before its first step.
    delta : float, default=None
        The delta at which ``max_epsilon`` is stated, in (0, 1); given with it.

    See Also
    --------
    DPSGDClassifier, skmia.synthetic.DPWassersteinGAN : Record each fit in their ``ledger``.
    skmia.defenses.mechanisms.GaussianMechanism : Records each of its releases.

    Notes
    -----
    The total cost is computed from the Rényi divergences of the fits, which add up, and is less
    than the sum of their epsilons. It covers everything that the fits release together, such as a
    model that was chosen by a search. Fits on a part of the rows, as in cross-validation, count in
    full, and so do all rows that a mechanism releases.

    The first line of the file says when it began, the next two how many fits it holds, and each fit
    has a line with a digest of all lines before it. If the file was truncated, edited, merged from
    others, replaced with an older copy, moved or removed, reading it raises an error. This protects
    against accidents only: anyone who can write the file can also replace it.

    ``max_epsilon`` belongs to the ledger object and not to the file: pass the same object to all
    estimators that read the rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skorch import NeuralNetClassifier
    >>> from torch import nn
    >>> from skmia.defenses import DPSGDClassifier, PrivacyLedger
    >>> X, y = load_iris(return_X_y=True)
    >>> def make_net(n_features, n_classes):
    ...     return NeuralNetClassifier(
    ...         nn.Linear(n_features, n_classes), criterion=nn.CrossEntropyLoss, batch_size=30,
    ...         max_epochs=1, train_split=None, verbose=0,
    ...     )
    >>> with TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder) / "iris.jsonl")
    ...     private = DPSGDClassifier(
    ...         make_net, target_epsilon=1.0, target_delta=1e-3, classes=[0, 1, 2], ledger=ledger
    ...     )
    ...     search = GridSearchCV(private, {"max_grad_norm": [0.5, 1.0]}, cv=2).fit(X, y)
    ...     print(len(ledger.read()), f"{search.best_estimator_.epsilon_:.1f}")
    ...     print(f"{ledger.epsilon(delta=1e-3):.1f}")
    5 1.0
    2.3
    """

    path: Any
    max_epsilon: float | None = field(default=None, kw_only=True)
    delta: float | None = field(default=None, kw_only=True)
    # The last _LedgerMark that was seen. Clones share it, and copies in other processes take it
    # along.
    _seen: RememberedFacts = field(
        default_factory=RememberedFacts, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        text = self.path if isinstance(self.path, str | os.PathLike) else None
        text = text if text is None else os.fspath(text)
        if not isinstance(text, str) or not text or "\0" in text:
            raise ValueError(f"path must name a file; got {show(self.path)}.")
        # Or it would name another file once the working directory changes.
        object.__setattr__(self, "path", Path(os.path.abspath(text)))
        if (self.max_epsilon is None) != (self.delta is None):
            raise ValueError("Give max_epsilon and delta together, or neither.")
        if self.max_epsilon is not None:
            check_number(self.max_epsilon, "max_epsilon", "finite and above 0", _TINY)
            _check_delta(self.delta)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def record(
        self,
        *,
        noise_multiplier: float,
        sample_rate: float,
        n_steps: int,
        n_rows: int,
        kind: Literal["fit", "fit from public weights", "normal", "laplace"] = "fit",
    ) -> None:
        """Append a fit, or the release of a mechanism.

        When this returns, the fit is in the file: it was written, flushed and read again.

        Parameters
        ----------
        noise_multiplier : float
            Noise of a step, as a multiple of what one row can change; 0 for a fit that no
            accountant covers. Of a mechanism, the standard deviation of normal noise, or the scale
            of Laplace noise, over the sensitivity.
        sample_rate : float
            Probability with which a row takes part in a step, above 0; 1 for a mechanism.
        n_steps : int
            Planned number of steps, or number of rows that a mechanism releases, at least 1.
        n_rows : int
            Number of rows; 0 for a mechanism, which does not know it.
        kind : {"fit", "fit from public weights", "normal", "laplace"}, default="fit"
            A training, one whose first weights were declared to be public, or the noise of a
            mechanism. Both trainings cost the same.

        Raises
        ------
        ValueError
            If a value is not allowed, if the fit would exceed ``max_epsilon``, or if the file was
            cut, edited or replaced.
        FileNotFoundError
            If the file was there and is not any more.
        OSError
            If the file cannot be written, such as on a full disk.
        """
        self._write(_check_fit(kind, noise_multiplier, sample_rate, n_steps, n_rows))

    def record_search(self, divergences: ArrayLike, *, n_rows: int) -> None:
        """Append a search whose choice is private, as :class:`PrivateSearchCV` does.

        Parameters
        ----------
        divergences : array-like of shape (n_orders,)
            Rényi divergences of the whole search at the orders of the accountant; infinite if no
            accountant covers it.
        n_rows : int
            Number of rows.

        Raises
        ------
        ValueError, FileNotFoundError, OSError
            As :meth:`record`.
        """
        curve = np.asarray(divergences, dtype=np.float64)
        is_covered = bool(np.isfinite(curve).all())
        self._write(
            _check_fit(_SEARCH, float(is_covered), 1.0, 1, n_rows, curve.tolist())
            if is_covered
            else _check_fit("fit", 0.0, 1.0, 1, n_rows)
        )

    def _write(self, fit):
        """Write down a fit before its first step."""
        with self._saying("be written, so that no step was made"):
            if self._is_new():
                self._begin()
            with self._open(os.O_RDWR) as handle, locked(handle, alone=True):
                book = self._check(handle)
                self._check_limit(book, fit)
                self._append(handle, book, fit)

    def read(self) -> pd.DataFrame:
        """Return all fits.

        Returns
        -------
        fits : DataFrame
            A row for each fit, with the columns ``kind``, ``noise_multiplier``, ``sample_rate``,
            ``n_steps`` and ``n_rows``; empty if there has been no file yet. Of a search whose
            choice is private the first is "search", and noise, rate and steps are 1.

        Raises
        ------
        ValueError
            If the file is not a ledger, or was cut, edited or replaced.
        FileNotFoundError
            If the file was there and is not any more.
        OSError
            If the file cannot be read.
        """
        return pd.DataFrame(self._read_fits(), columns=list(_COLUMNS))

    def epsilon(self, delta: float, *, accountant: Literal["rdp", "prv"] = "rdp") -> float:
        """Compute the privacy budget that all fits spent together.

        Parameters
        ----------
        delta : float
            The delta at which epsilon is stated, in (0, 1).
        accountant : {"rdp", "prv"}, default="rdp"
            As in :class:`DPSGDClassifier`.

        Returns
        -------
        epsilon : float
            In nats; 0 without a fit, infinite if a fit is not covered.

        Raises
        ------
        ValueError, FileNotFoundError, OSError
            As :meth:`read`.
        """
        _check_delta(delta)
        check_option(accountant, "accountant", ("rdp", "prv"))
        return _price(self._read_fits(), delta, accountant)

    def _read_fits(self):
        with self._saying("be read"):
            if self._is_new():
                os.stat(self.path.parent)  # where no fit could have been written, none was counted
                return []
            with self._open(os.O_RDONLY) as handle, locked(handle, alone=False):
                return self._check(handle).fits

    # The file

    @contextmanager
    def _saying(self, what) -> Iterator[None]:
        """Say what cannot be done with the file where the operating system says why."""
        try:
            yield
        except OSError as error:
            if error.errno is None:  # a sentence of this module
                raise
            kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
            raise kind(
                f"The ledger {_quote(self.path)} cannot {what}: "
                f"{error.strerror or type(error).__name__}."
            ) from error

    @contextmanager
    def _open(self, flags) -> Iterator[int]:
        # Opening something else than a file, such as a pipe, must not wait.
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(self.path, flags)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(f"The ledger {_quote(self.path)} is not a file.")
            yield handle
        finally:
            os.close(handle)

    def _begin(self):
        identity, began = os.urandom(16).hex(), datetime.now(UTC).isoformat(timespec="seconds")
        lines = _write_first_line(identity, began) + 2 * _write_count(0, identity)
        write_atomically(self.path, lambda file: file.write(lines), once=True)

    def _append(self, handle, book, fit):
        number = len(book.fits) + 1
        line, digest = _write_ledger_line(number, fit, book.digests[-1])
        mark = _LedgerMark(book.identity, book.began, number, digest)
        count, place = _write_count(number, digest), book.older
        before, after = book.content[:place], book.content[place + _WIDTH :]
        try:
            # A line that a process did not finish ends here.
            os.ftruncate(handle, len(book.content))
            _write_at(handle, len(book.content), line)
            _write_at(handle, place, count)
            self._check_written(handle, before + count + after + line)
            write_bytes(self._count_path(), json.dumps(mark._asdict()).encode() + b"\n")
        except OSError:
            with suppress(OSError):  # then it counts, which is more than was spent
                _write_at(handle, place, book.content[place : place + _WIDTH])
                os.ftruncate(handle, len(book.content))
            raise
        self._seen["mark"] = mark

    def _check_written(self, handle, content):
        """Check that the file of this name is the one that was written, and holds it."""
        is_same = os.path.samestat(os.fstat(handle), os.stat(self.path))
        if not is_same or self.path.read_bytes() != content:
            raise OSError(
                f"The ledger {_quote(self.path)} does not hold what was written into it, so "
                "that no step was made."
            )

    def _check(self, handle):
        """Read the file, and compare it with what is known of it."""
        book = _parse_ledger(_read_ledger_bytes(handle), self.path)
        for mark, source in self._known():
            if book.identity != mark.identity:
                what = f"another one, begun at {book.began}"
            elif len(book.fits) < mark.n_fits:
                what = f"an older copy, with {len(book.fits)} of {mark.n_fits} fits"
            elif book.digests[mark.n_fits] != mark.digest:
                what = "a copy that went on with other fits"
            else:
                continue
            raise ValueError(
                f"The ledger {_quote(self.path)} was replaced with {what}; bring back the one "
                f"that was begun at {mark.began}, or use another path.{source}"
            )
        self._seen["mark"] = book.mark()
        return book

    def _is_new(self):
        """Return whether there has been no file yet; one that is not there any more is an error.

        What is known is read first: another thread may begin the file between the two.
        """
        known = list(self._known())
        if self.path.exists():
            return False
        for mark, source in known:
            raise FileNotFoundError(
                f"The ledger {_quote(self.path)}, which was begun at {mark.began} and had "
                f"{mark.n_fits} fit{'' if mark.n_fits == 1 else 's'}, is not there any more; bring "
                "it back, or use another path."
                f"{source}"
            )
        return True

    def _known(self):
        """Yield what this object and the file beside the ledger know of it."""
        if "mark" in self._seen:
            yield self._seen["mark"], ""
        path = self._count_path()
        try:
            stored = json.loads(path.read_bytes())
            mark = _LedgerMark(**{**stored, "began": visible(str(stored["began"]))})
            check_count(mark.n_fits, "n_fits", 0)
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"{_quote(path)} is damaged, which keeps the number of fits of a ledger; bring "
                "it back, or remove it if you know that the ledger is whole."
            ) from None
        yield mark, f" {_quote(path)} says so."

    def _count_path(self):
        return self.path.with_name(f"{self.path.name}.count")

    def _check_limit(self, book, fit):
        if self.max_epsilon is None:
            return
        spent, after = (_price(fits, self.delta, "rdp") for fits in (book.fits, [*book.fits, fit]))
        if after > self.max_epsilon * (1 + _ROUNDING):
            raise ValueError(
                f"The ledger {_quote(self.path)} has max_epsilon={self.max_epsilon:g} at "
                f"delta={self.delta:g}; {spent:.4g} is spent, and it would be {after:.4g}, so that "
                "nothing was released. Use more noise or fewer steps, or allow more."
            )


def _check_delta(delta):
    check_number(delta, "delta", "a number in (0, 1)", 1e-300, 1 - 1e-15)


def _check_fit(kind, noise_multiplier, sample_rate, n_steps, n_rows, divergences=None):
    """Return the values of a line, in the types in which they are written."""
    if kind == _SEARCH:
        return _check_search(n_rows, divergences)
    noise_multiplier, sample_rate = _as_plain_float(noise_multiplier), _as_plain_float(sample_rate)
    return {
        "kind": check_option(kind, "kind", (*_FITS, *_NOISES)),
        "noise_multiplier": float(
            check_number(noise_multiplier, "noise_multiplier", "finite and 0 or more", 0)
        ),
        "sample_rate": float(
            check_number(sample_rate, "sample_rate", "above 0 and at most 1", _TINY, 1)
        ),
        "n_steps": check_count(n_steps, "n_steps"),
        "n_rows": check_count(n_rows, "n_rows", 1 if kind in _FITS else 0),
    }


def _check_search(n_rows, divergences):
    if not isinstance(divergences, list) or len(divergences) != len(ORDERS):
        raise ValueError(f"divergences must be {len(ORDERS)} numbers, one for each order.")
    for value in divergences:
        check_number(value, "divergences", "finite and 0 or more", 0)
    values = (_SEARCH, 1.0, 1.0, 1, check_count(n_rows, "n_rows"))
    return {
        **dict(zip(_COLUMNS, values, strict=True)),
        "divergences": list(map(float, divergences)),
    }


def _as_plain_float(value):
    return value.item() if isinstance(value, np.floating) else value


def _price(fits, delta, accountant):
    """Return the epsilon of all fits together."""
    if any(fit["noise_multiplier"] < _LEAST_NOISE for fit in fits):
        return np.inf
    parts: dict[str, list] = {"fit": [], "normal": [], "laplace": []}
    curves = [np.array(fit["divergences"]) for fit in fits if fit["kind"] == _SEARCH]
    for fit in fits:
        if fit["kind"] == _SEARCH:
            continue
        noise, rate, n = fit["noise_multiplier"], fit["sample_rate"], fit["n_steps"]
        line = {"fit": (noise, rate, n), "normal": (noise, n), "laplace": (1 / noise, n)}
        kind = "fit" if fit["kind"] in _FITS else fit["kind"]
        parts[kind].append(line[kind])
    return total_epsilon(parts["fit"], parts["normal"], parts["laplace"], delta, accountant, curves)


def _quote(path):
    return f"'{visible(str(path))}'"


# Lines


def _digest(*parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _sign(values):
    """Return a line that has a digest of its values at its end."""
    return json.dumps({**values, "digest": _digest(json.dumps(values))}).encode()


def _write_first_line(identity, began):
    return _sign({"ledger": _FORMAT, "version": _VERSION, "began": began, "id": identity}) + b"\n"


def _write_count(n_fits, digest):
    return _sign({"fits": n_fits, "last": digest}).ljust(_WIDTH - 1) + b"\n"


def _write_ledger_line(number, fit, previous):
    """Return a line, and the digest of it and all lines before it."""
    values = {"fit": number, **fit}
    digest = _digest(previous, json.dumps(values))
    return json.dumps({**values, "digest": digest}).encode() + b"\n", digest


def _parse_ledger(content, path):
    name = _quote(path)
    if not content:
        raise ValueError(
            f"The ledger {name} is an empty file: it was cut, or is not a ledger. Bring it back, "
            "or use another path."
        )
    first, _, rest = content.partition(b"\n")
    identity, began = _read_first_line(first, name)
    n_fits, last, at = _read_fit_counts(rest[: 2 * _WIDTH], name)
    *lines, _ = rest[2 * _WIDTH :].split(b"\n")
    fits: list[dict[str, Any]] = []
    digests = [identity]
    for line in lines:
        fit, digest = _read_line(line, len(fits) + 1, digests[-1], name)
        fits.append(fit)
        digests.append(digest)
    if len(fits) < n_fits:
        raise ValueError(
            f"The ledger {name} was cut: it holds {len(fits)} of {n_fits} fits. Bring back the "
            "whole file, or use another path."
        )
    if last is not None and digests[n_fits] != last:
        raise ValueError(f"The fits of the ledger {name} are not those that it counted.")
    start = len(first) + 1
    whole = content[: start + 2 * _WIDTH + sum(len(line) + 1 for line in lines)]
    return _LedgerContent(identity, began, fits, digests, whole, start + (_WIDTH if at == 0 else 0))


def _read_first_line(line, name):
    """Return the identity of a ledger, and when it was begun."""
    values = _parse_ledger_line(line)
    if isinstance(values, dict) and "ledger" not in values and {*_COLUMNS[1:]} <= set(values):
        raise ValueError(
            f"{name} is a ledger of an earlier version, which does not say how many fits it has. "
            "Pass the values of each line to record of a PrivacyLedger with a new path."
        )
    if not isinstance(values, dict) or values.get("ledger") != _FORMAT:
        raise ValueError(
            f"{name} is not a ledger of private fits: {show(_decode_line(line[:60]))}."
        )
    with suppress(KeyError, TypeError):
        if _write_first_line(values["id"], values["began"]) == line + b"\n":
            return values["id"], visible(str(values["began"]))
    raise ValueError(
        f"The first line of the ledger {name} was changed, cut, or written by another version; "
        "bring back the file, or use another path."
    )


def _read_fit_counts(content, name):
    """The fewest fits that there must be, the digest of the last one or None, and where it is."""
    found = []
    for place in (0, 1):
        line = content[place * _WIDTH : (place + 1) * _WIDTH]
        values = _parse_ledger_line(line)
        with suppress(KeyError, TypeError):
            if _write_count(values["fits"], values["last"]) == line:
                found.append((values["fits"], values["last"], place))
    if not found:
        raise ValueError(
            f"The ledger {name} does not say how many fits it has: it was cut or edited. Bring "
            "back the file, or use another path."
        )
    n_fits, last, place = max(found, key=lambda one: one[0])
    # A process that ended while it wrote the other number had written a fit before.
    return (n_fits, last, place) if len(found) == 2 else (n_fits + 1, None, place)


def _read_line(line, number, previous, name):
    """Return the fit of a line that is exactly what would be written, and its digest."""
    values = _parse_ledger_line(line)
    try:
        fit = _check_fit(*(values[column] for column in _COLUMNS), values.get("divergences"))
        written, digest = _write_ledger_line(number, fit, previous)
        if written == line + b"\n":
            return fit, digest
        what = "it was edited, or is not in its place"
    except (KeyError, TypeError):
        what = show(_decode_line(line[:60]))
    except ValueError as error:
        what = str(error).rstrip(".")
    raise ValueError(
        f"Fit {number} of the ledger {name} is not what was written: {what}. Bring back the file, "
        "or use another path."
    )


def _decode_line(line):
    return line.decode("utf-8", "replace").split("\n")[0]


def _parse_ledger_line(line):
    """Return what a line says; None if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# Bytes


def _read_ledger_bytes(handle):
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_at(handle, place, content):
    """Write all bytes at a place of a file, and flush them."""
    os.lseek(handle, place, os.SEEK_SET)
    while content:
        n = os.write(handle, content)
        if n <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        content = content[n:]
    os.fsync(handle)
