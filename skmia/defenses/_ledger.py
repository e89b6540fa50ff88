"""A record of all private trainings on the same rows, and what they cost together."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from .._core.accountant import spent_epsilon
from .._core.checks import check_option
from .._core.numbers import check_number, show
from .._core.types import PathLike

_COLUMNS = {"noise_multiplier": float, "sample_rate": float, "n_steps": int, "n_rows": int}


@dataclass(frozen=True)
class PrivacyLedger:
    """A file in which private estimators write down each of their fits, and the sum of their cost.

    ``epsilon_`` of an estimator is the cost of one fit. A search, cross-validation, a pool of
    shadow models or an audit fits many, on the same rows. Each fit with this ledger appends a line
    to the file before its first step, so that fits that fail or are interrupted count as well, and
    so do fits of clones and in other processes, because all of them have the same path.

    Parameters
    ----------
    path : str or path-like
        Path of the file, which is created by the first fit. Use one for each table of private rows.

    See Also
    --------
    DPSGDClassifier, skmia.synthetic.DPWassersteinGAN : Write into it, as their ``ledger``.

    Notes
    -----
    The cost of all fits together follows from their Rényi divergences, which add up, and is less
    than the sum of their epsilons. It covers whatever all fits release together, such as a model
    that was chosen by a search. Fits on a part of the rows, as in cross-validation, count in full.

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
    ...         max_epochs=5, train_split=None, verbose=0,
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
    2.5
    """

    path: PathLike

    def record(
        self, *, noise_multiplier: float, sample_rate: float, n_steps: int, n_rows: int
    ) -> None:
        """Append a fit.

        Parameters
        ----------
        noise_multiplier : float
            Noise of a step, as a multiple of what one row can change; 0 for a fit that no
            accountant covers.
        sample_rate : float
            Probability with which a row takes part in a step.
        n_steps : int
            Planned number of steps.
        n_rows : int
            Number of rows.
        """
        values = (noise_multiplier, sample_rate, n_steps, n_rows)
        line = dict(zip(_COLUMNS, values, strict=True))
        text = json.dumps({key: kind(line[key]) for key, kind in _COLUMNS.items()}) + "\n"
        # One write at the end of a file is not torn apart by those of other processes.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        handle = os.open(Path(self.path), flags, 0o644)
        try:
            os.write(handle, text.encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self) -> pd.DataFrame:
        """Return all fits.

        Returns
        -------
        fits : DataFrame
            A row for each fit, with the columns ``noise_multiplier``, ``sample_rate``, ``n_steps``
            and ``n_rows``; empty if there is no file yet.

        Raises
        ------
        ValueError
            If the file is not a ledger.
        """
        path = Path(self.path)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return pd.DataFrame([self._parse(line) for line in lines], columns=list(_COLUMNS))

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
        """
        check_number(delta, "delta", "a number in (0, 1)", 1e-300, 1 - 1e-15)
        check_option(accountant, "accountant", ("rdp", "prv"))
        fits = self.read()
        columns = (fits[name] for name in ("noise_multiplier", "sample_rate", "n_steps"))
        return spent_epsilon(list(zip(*columns, strict=True)), delta, accountant)

    def _parse(self, line):
        try:
            stored = json.loads(line)
            return {key: kind(stored[key]) for key, kind in _COLUMNS.items()}
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"{show(str(self.path))} is not a ledger of private fits: {show(line[:60])}."
            ) from None
