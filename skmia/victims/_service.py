"""Models that can only be queried: functions and web services."""

import asyncio
import inspect
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if

from .._core.containers import as_rows, take_rows
from .._core.files import make_private_folder, write_atomically
from .._core.groups import check_class_labels
from .._core.numbers import show, to_array
from .._core.outputs import check_order_of_columns, check_output_matrix, tell_columns
from .._core.query import GivenModel
from .._core.sklearn import Interval, StrOptions, at_least, validate_params_of
from .._core.types import ArrayLike, PathLike, Rows
from .._core.validation import call_given
from .._training.digests import digest_table


def _returns_probabilities(victim):
    if victim.kind != "label":
        return True
    raise AttributeError('The function returns labels (kind="label"), and no probabilities.')


def _check_matrix(answer, n_rows, classes):
    expected = (n_rows, len(classes))
    if answer.shape != expected:
        cure, is_flat = "", answer.shape in ((n_rows,), (n_rows, 1))
        is_flat &= not any(map(np.ndim, answer.flat))
        if is_flat and np.isin(answer, classes).all():
            cure = ' For labels, pass kind="label".'
        elif is_flat and len(classes) == 2 and answer.dtype.kind in "biuf":
            cure = tell_columns("proba")
        raise ValueError(
            f"The function must return {expected[0]} rows and {expected[1]} classes with an array "
            f"of shape {expected}; got {answer.shape}.{cure}"
        )
    return answer


def _check_answered_labels(answer, n_rows, classes):
    answer = answer[:, 0] if answer.shape == (n_rows, 1) else answer
    if answer.shape != (n_rows,):
        raise ValueError(
            f"The function must return {n_rows} labels with an array of shape ({n_rows},); got "
            f"{answer.shape}."
        )
    known = np.isin(answer, classes)
    if not known.all():
        got, allowed = show(answer[~known].tolist()[0]), show(classes.tolist())
        raise ValueError(f"The function must return labels among classes {allowed}; got {got}.")
    return answer.astype(classes.dtype)


def _wait_for(answer):
    """Await the answer of a coroutine function in a loop of its own, in notebooks as well."""

    async def wait():
        return await answer

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, wait()).result()


_LONGEST_WAIT = 60  # seconds before a batch is asked again


@dataclass
class _QueryLog:
    """What was asked of a function so far, and the answers of a query that is not complete."""

    n_calls: int = 0
    n_queries: int = 0
    last: float = -np.inf
    kept: dict = field(default_factory=dict)
    settings: tuple = (None,)  # function and parameters that the kept answers depend on

    def keep_answers_of(self, function, *settings):
        """Forget the answers of another function, or with other settings."""
        if self.settings[0] is not function or self.settings[1:] != settings:
            self.kept.clear()
        self.settings = (function, *settings)


class CallableVictim(GivenModel, ClassifierMixin, BaseEstimator):
    """Classifier behind a function, such as a web service.

    If a query is interrupted, by an error of the service or by the user, the batches that were
    answered are kept, and the same query resumes where it stopped, unless another function or other
    classes, another kind or number of repeats are set in between.

    Parameters
    ----------
    function : callable
        Function, or coroutine function, of a batch of at most ``batch_size`` rows of X that returns
        their class probabilities, an array of shape (n_rows, n_classes), or their labels, of shape
        (n_rows,). Probabilities that are NaN or outside [0, 1] are refused where they are read, see
        :class:`~skmia.Outputs`; rows need not sum to 1.
    classes : array-like of shape (n_classes,)
        Label of each column, in order. When labeled records are queried, a warning is issued if
        their labels fit another order better. For ``kind="label"``, all labels that the function
        may return, in any order.
    kind : {"proba", "label"}, default="proba"
        Whether the function returns class probabilities or labels. With labels there is no
        ``predict_proba``.
    batch_size : int, default=1000
        Maximum number of rows per call.
    retries : int, default=0
        How often a batch is asked again after an error of ``retry_on``: after 1, 2, 4, ... seconds,
        60 at most.
    retry_on : tuple of exception classes, default=None
        Errors that may pass. If None, ``OSError``, which ``urllib.error.HTTPError`` is.
    max_calls_per_second : float, default=None
        Largest rate of calls. If None, there is no limit.
    checkpoint : str or Path, default=None
        Folder in which answers are kept for good, one file for each batch: later queries of the
        same batches, in other processes as well, read it instead of asking. Use a folder for one
        service only, and none for a service that answers at random, unless its answers are
        averaged. Probabilities that attacks refuse are not kept. If None, answers are kept in
        memory until the query is complete.
    n_repeats : int, default=1
        How often each batch is asked. The answer is the mean of the class probabilities, or the
        most frequent label. Above 1 for a service that adds fresh noise to each answer, which an
        attacker averages too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the columns.
    n_calls_ : int
        Number of calls so far, including those that failed.
    n_queries_ : int
        Number of rows that the function was called with so far.

    Raises
    ------
    ValueError
        If an output has the wrong shape, or a label is not among the classes.

    See Also
    --------
    skmia.Outputs : Outputs that were collected elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia import Records
    >>> from skmia.victims import CallableVictim
    >>> def service(rows):
    ...     p = 1 / (1 + np.exp(-rows[:, 0]))
    ...     return np.column_stack([1 - p, p])
    >>> victim = CallableVictim(service, classes=["no", "yes"])
    >>> records = Records(np.array([[-2.0], [0.5]]), ["no", "no"])
    >>> ThresholdAttack(victim).fit(records).score_samples(records).round(3)
    array([-0.127, -0.974])

    A service that returns labels is compared with the labels of shadow models:

    >>> victim = CallableVictim(lambda rows: rows[:, 0] > 0, classes=[False, True], kind="label")
    >>> hasattr(victim, "predict_proba")
    False
    >>> victim.predict([[-2.0], [0.5]])
    array([False,  True])
    """

    _parameter_constraints = {
        "function": [callable],
        "classes": ["array-like"],
        "kind": [StrOptions({"proba", "label"})],
        "batch_size": [at_least(1)],
        "retries": [at_least(0)],
        "retry_on": [tuple, None],
        "max_calls_per_second": [Interval(Real, 0, None, closed="neither"), None],
        "checkpoint": [str, Path, None],
        "n_repeats": [at_least(1)],
    }

    asks_in_batches = True

    # By the user, who can be wrong about the order of the function's columns.
    classes_are_given = True

    def __init__(
        self,
        function: Callable[..., ArrayLike],
        classes: ArrayLike,
        *,
        kind: Literal["proba", "label"] = "proba",
        batch_size: int = 1000,
        retries: int = 0,
        retry_on: tuple[type[Exception], ...] | None = None,
        max_calls_per_second: float | None = None,
        checkpoint: PathLike | None = None,
        n_repeats: int = 1,
    ) -> None:
        self.function = function
        self.classes = classes
        self.kind = kind
        self.batch_size = batch_size
        self.retries = retries
        self.retry_on = retry_on
        self.max_calls_per_second = max_calls_per_second
        self.checkpoint = checkpoint
        self.n_repeats = n_repeats

    @property
    def classes_(self) -> np.ndarray:
        return check_class_labels(self.classes)

    @available_if(_returns_probabilities)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Query the function in batches.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the function takes them.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        parts = list(self._ask(X, "be a matrix", _check_matrix))
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _ask(self, X, must, check):
        """Yield the checked answers of the function, batch by batch."""
        validate_params_of(self)
        X, classes = as_rows(X), self.classes_
        self._asked.keep_answers_of(self.function, self.kind, self.n_repeats, classes.tolist())
        kept = self._asked.kept
        for rows in gen_batches(X.shape[0], self.batch_size) if X.shape[0] else ():
            batch = take_rows(X, rows)
            name = digest_table(batch)
            answer = None if self.checkpoint is None else self._read(name)
            if answer is None:
                answer = self._average(batch, name, must, check)
                if self.checkpoint is not None and self._is_answer(answer):
                    self._write(name, answer)
                    del kept[name]
            yield check(answer, batch.shape[0], classes)
        kept.clear()

    def _average(self, batch, name, must, check):
        """Ask for a batch as often as it was not asked yet, and return the mean or the majority."""
        kept, classes = self._asked.kept, self.classes_
        n_asked, total = kept.get(name, (0, 0))
        for n_done in range(n_asked, self.n_repeats):
            answer = self._call(batch)
            check_order_of_columns(answer, classes)
            answer = to_array(answer, "What the function answers", must)
            answer = check(answer, batch.shape[0], classes)
            if self.n_repeats > 1:
                votes = answer[:, None] == classes if self.kind == "label" else answer
                answer = total + votes.astype(np.float64)
            total = answer
            kept[name] = n_done + 1, total
        if self.n_repeats == 1:
            return total
        return classes[total.argmax(axis=1)] if self.kind == "label" else total / self.n_repeats

    def _is_answer(self, answer):
        """Return whether attacks can read it, or refuse it, so that it has to be asked again."""
        if self.kind == "proba":
            try:
                check_output_matrix(answer, self.classes_, self.kind)
            except ValueError:
                return False
        return True

    def _place(self, name):
        of_mean = f"-mean-{self.n_repeats}" if self.n_repeats > 1 else ""
        return Path(self.checkpoint) / f"{self.kind}-{name[1:]}{of_mean}.npy"

    def _read(self, name):
        place = self._place(name)
        return np.load(place, allow_pickle=False) if place.exists() else None

    def _write(self, name, answer):
        make_private_folder(Path(self.checkpoint))
        answer = answer.tolist() if answer.dtype == object else answer  # labels of a column of text
        write_atomically(self._place(name), lambda file: np.save(file, answer, allow_pickle=False))

    def _call(self, batch):
        """Ask for a batch, and again after errors that may pass."""
        passing, asked = OSError if self.retry_on is None else self.retry_on, self._asked
        for attempt in range(self.retries + 1):
            if self.max_calls_per_second is not None:
                wait = asked.last + 1 / self.max_calls_per_second
                time.sleep(max(0.0, wait - time.monotonic()))
                asked.last = time.monotonic()
            asked.n_calls += 1
            asked.n_queries += batch.shape[0]
            try:
                answer = call_given(self.function, "function", "f(X)", batch)
                return _wait_for(answer) if inspect.isawaitable(answer) else answer
            except passing:
                if attempt == self.retries:
                    raise
                time.sleep(min(2**attempt, _LONGEST_WAIT))

    @property
    def _asked(self):
        # One object, so that counts and answers are none of the attributes that tell victims apart.
        return vars(self).setdefault("_state", _QueryLog())

    @property
    def n_calls_(self) -> int:
        return self._asked.n_calls

    @property
    def n_queries_(self) -> int:
        return self._asked.n_queries

    def predict(self, X: Rows) -> np.ndarray:
        """Return the label of each row, the most probable one unless the function returns labels.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the function takes them.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        classes = self.classes_
        if self.kind == "label":
            parts = list(self._ask(X, "be one label for each row", _check_answered_labels))
            return np.concatenate(parts) if parts else classes[:0]
        return classes[self.predict_proba(X).argmax(axis=1)]
