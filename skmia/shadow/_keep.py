"""What a pool keeps of a shadow model."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .._core.numbers import show
from .._core.records import Records
from .._training.identity import identify_values
from .._training.job import Kept
from ..signals import AnswerSignal, ScaledLogit
from ..signals.auto import auto_of
from ..signals.registry import get_signal


def check_temperatures(temperatures):
    """Check that temperatures are different positive numbers, one or more."""
    numbers = [isinstance(one, Real) and not isinstance(one, bool) for one in temperatures]
    if not (numbers and all(numbers) and all(0 < one < np.inf for one in temperatures)):
        raise ValueError(
            f"temperatures must be one or more positive numbers; got {show(temperatures)}."
        )
    if len({float(one) for one in temperatures}) < len(temperatures):
        raise ValueError(f"temperatures must be different numbers; got {show(temperatures)}.")


def further_signals(signals):
    """Signals that are stored beside ``"auto"``.

    Raises
    ------
    ValueError
        If ``"auto"`` is missing, or something is neither a signal nor the name of one.
    """
    if not any(isinstance(one, str) and one == "auto" for one in signals):
        raise ValueError(
            'signals must hold "auto", which audits and thresholds read, and may hold further '
            f"signals; got {show(signals)}."
        )
    return [get_signal(one) for one in signals if not isinstance(one, str) or one != "auto"]


def signals_of(kind, signals, temperatures):
    """All signals that a pool stores of models of a kind, the log odds at each temperature first.

    Parameters
    ----------
    kind : str
        Kind of the models' outputs.
    signals : sequence of str or Signal
        ``"auto"`` and further signals.
    temperatures : sequence of float
        Temperatures of the log odds.

    Returns
    -------
    stored : list of Signal
        Different ones.
    """
    auto = auto_of(kind)
    stored = [ScaledLogit(one) for one in temperatures] if auto == ScaledLogit() else [auto]
    return list(dict.fromkeys([*stored, *further_signals(signals)]))


@dataclass(frozen=True)
class PoolKeeper:
    """Signals of the records and of each augmentation.

    Parameters
    ----------
    signals : tuple of str or Signal
        ``"auto"`` and further signals.
    temperatures : tuple of float
        At which the log odds are kept.
    resolution : "auto" or float
        Step of the probabilities.
    store : {"signals", "outputs", "models"}
        What is kept beside the signals.
    """

    signals: tuple
    temperatures: tuple
    resolution: object
    store: str

    @property
    def keeps_models(self):
        """Whether the models are kept, as pickles where there is a folder."""
        return self.store == "models"

    def __call__(self, trained):
        """Take the signals of a trained model."""
        first = trained.answers[0]
        step = first.compute_resolution() if self.resolution == "auto" else self.resolution
        stored = signals_of(first.kind, self.signals, self.temperatures)
        raw = [
            [_evaluate(one, trained, q, step) for q in range(len(trained.answers))]
            for one in stored
        ]
        facts = {
            "signal": stored[0].name,
            "step": float(step),
            "dtype": first.values.dtype.str,
            "kind": first.kind,
        }
        arrays = {"raw": np.array(raw, dtype=np.float32)}  # (n_signals, n_queries, n)
        if first.classes is not None:
            arrays["classes"] = np.asarray(first.classes)
        if self.store == "outputs":
            arrays["outputs"] = first.values.astype(np.float32)
        return Kept(facts, arrays, trained.model if self.keeps_models else None)

    def describe(self):
        """What the signals depend on beside the models, for the identity of a checkpoint."""
        further = {repr(one): one for one in further_signals(self.signals)}
        return {
            "signals": identify_values(further),
            "temperatures": [float(one) for one in self.temperatures],
            "resolution": self.resolution,
            "store": self.store,
        }

    def check(self, arrays, n_records):
        """Refuse arrays that cannot be those of a model of this pool.

        Raises
        ------
        ValueError
            Says what is wrong.
        """
        if arrays["raw"].ndim != 3 or arrays["raw"].shape[2] != n_records:
            raise ValueError(f"its signals have the shape {arrays['raw'].shape}")
        if ("outputs" in arrays) != (self.store == "outputs"):
            raise ValueError("it holds outputs where none were asked for, or lacks them")


def _evaluate(signal, trained, query, step):
    """Raw values of a signal of the records, or of one of their augmentations."""
    if isinstance(signal, AnswerSignal):
        return signal.raw(trained.answers[query], trained.data.y, step)
    return signal.of(trained.model, Records(trained.data.tables[query], trained.data.y))
