"""Values that a pool keeps of a shadow model."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .._core.asking import CHUNK
from .._core.numbers import show
from .._core.records import Records
from .._core.resolution import Resolution
from .._training.identity import identify_values
from .._training.job import Kept
from ..signals import AnswerSignal, ScaledLogit
from ..signals.auto import auto_of
from ..signals.registry import get_signal


def check_temperatures(temperatures):
    """Check that temperatures are one or more different positive numbers."""
    numbers = [
        isinstance(temperature, Real) and not isinstance(temperature, bool)
        for temperature in temperatures
    ]
    if not (
        numbers and all(numbers) and all(0 < temperature < np.inf for temperature in temperatures)
    ):
        raise ValueError(
            f"temperatures must be one or more positive numbers; got {show(temperatures)}."
        )
    if len({float(temperature) for temperature in temperatures}) < len(temperatures):
        raise ValueError(f"temperatures must be different numbers; got {show(temperatures)}.")


def further_signals(signals):
    """Return the signals that are stored in addition to ``"auto"``.

    Raises
    ------
    ValueError
        If ``"auto"`` is missing, or something is neither a signal nor the name of one.
    """
    if not any(isinstance(signal, str) and signal == "auto" for signal in signals):
        raise ValueError(
            'signals must hold "auto", which audits and thresholds read, and may hold further '
            f"signals; got {show(signals)}."
        )
    return [
        get_signal(signal) for signal in signals if not isinstance(signal, str) or signal != "auto"
    ]


def signals_of(kind, signals, temperatures):
    """Return all signals that a pool stores, the log odds at each temperature first.

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
        Stored signals, without duplicates.
    """
    auto = auto_of(kind)
    # Log odds of the label do not tell those at another temperature.
    is_tempered = auto == ScaledLogit() and kind != "log_odds"
    stored = [ScaledLogit(one) for one in temperatures] if is_tempered else [auto]
    return list(dict.fromkeys([*stored, *further_signals(signals)]))


def check_outputs_store(store, kind):
    """Refuse to keep the class probabilities of models that return labels.

    Raises
    ------
    ValueError
        If ``store="outputs"`` and the outputs are labels.
    """
    if store == "outputs" and kind == "label":
        raise ValueError(
            'store="outputs" keeps class probabilities or decision values, and the models of this '
            'pool return labels alone; use store="signals" or store="models".'
        )


@dataclass(frozen=True)
class PoolKeeper:
    """Signals of the records and of each augmentation.

    Parameters
    ----------
    signals : tuple of str or Signal
        ``"auto"`` and further signals.
    temperatures : tuple of float
        Temperatures of the log odds.
    resolution : "auto" or float
        Step of the probabilities.
    store : {"signals", "outputs", "models"}
        What is kept in addition to the signals.
    output_kind : {"auto", "label"}
        Kind to which outputs are reduced.
    """

    signals: tuple
    temperatures: tuple
    resolution: object
    store: str
    output_kind: str = "auto"

    @property
    def keeps_models(self):
        """Whether the models are kept, as pickles if there is a folder."""
        return self.store == "models"

    def __call__(self, trained):
        """Compute the signals of a trained model."""
        if self._suits_blocks(trained):
            raw, facts, classes = self._evaluate_blocks(trained)
            arrays = {"raw": raw}
        else:
            answers = [self._reduce(outputs) for outputs in trained.answers]
            first = answers[0]
            check_outputs_store(self.store, first.kind)
            step = first.compute_resolution() if self.resolution == "auto" else self.resolution
            stored = signals_of(first.kind, self.signals, self.temperatures)
            raw = [
                [_evaluate(signal, trained, q, step, answers) for q in range(len(answers))]
                for signal in stored
            ]
            arrays = {"raw": np.array(raw, dtype=np.float32)}  # (n_signals, n_queries, n)
            facts, classes = _describe(stored, step, first), first.classes
        if classes is not None:
            arrays["classes"] = np.asarray(classes)
        if self.store == "outputs":
            arrays["outputs"] = first.values.astype(np.float32)
        return Kept(facts, arrays, trained.model if self.keeps_models else None)

    def _reduce(self, outputs):
        return outputs.as_labels() if self.output_kind == "label" else outputs

    def _suits_blocks(self, trained):
        """Whether signals can be computed block by block, without the outputs for all records."""
        return (
            len(trained.data.y) > CHUNK
            and not trained.is_asked
            and self.store != "outputs"
            and all(isinstance(signal, AnswerSignal) for signal in further_signals(self.signals))
        )

    def _evaluate_blocks(self, trained):
        """Return the signals of all records, facts and classes, with outputs of one block only."""
        y, resolution, raw = trained.data.y, Resolution(), None
        step = 0.0 if self.resolution == "auto" else self.resolution
        for number, rows, full in trained.ask_in_blocks():
            outputs = self._reduce(full)
            if raw is None:
                stored = signals_of(outputs.kind, self.signals, self.temperatures)
                raw = np.empty((len(stored), len(trained.data.tables), len(y)), np.float32)
            if self.resolution == "auto" and number == 0 and outputs.kind == "proba":
                resolution.add(outputs.values)
            for place, signal in enumerate(stored):
                if not resolution.compute() or signal == ScaledLogit():
                    raw[place, number, rows] = signal.raw(outputs, y[rows], step)
        # Only the log odds without a temperature do not depend on the step of all blocks.
        again = [place for place, signal in enumerate(stored) if signal != ScaledLogit()]
        if resolution.compute():
            step = resolution.compute()
            for number, rows, full in trained.ask_in_blocks() if again else ():
                outputs = self._reduce(full)
                for place in again:
                    raw[place, number, rows] = stored[place].raw(outputs, y[rows], step)
        return raw, _describe(stored, step, outputs), outputs.classes

    def describe(self):
        """Describe what else the signals depend on, for the identity of a checkpoint."""
        further = {repr(signal): signal for signal in further_signals(self.signals)}
        reduced = {} if self.output_kind == "auto" else {"output_kind": self.output_kind}
        return reduced | {
            "signals": identify_values(further),
            "temperatures": [float(temperature) for temperature in self.temperatures],
            "resolution": self.resolution,
            "store": self.store,
        }

    def check(self, arrays, n_records):
        """Refuse arrays that cannot come from a model of this pool.

        Raises
        ------
        ValueError
            If the arrays do not have the shapes and contents of this pool.
        """
        if arrays["raw"].ndim != 3 or arrays["raw"].shape[2] != n_records:
            raise ValueError(f"its signals have the shape {arrays['raw'].shape}")
        if ("outputs" in arrays) != (self.store == "outputs"):
            raise ValueError("it holds outputs where none were asked for, or lacks them")


def make_keeper(pool):
    """What keeps results of a model with the settings of a pool."""
    settings = tuple(pool.signals), tuple(pool.temperatures), pool.resolution, pool.store
    return PoolKeeper(*settings, pool.output_kind)


def _describe(stored, step, outputs):
    """Return what the models of a pool have in common, and the step of this one."""
    return {
        "signal": stored[0].name,
        "step": float(step),
        "dtype": outputs.values.dtype.str,
        "kind": outputs.kind,
    }


def _evaluate(signal, trained, query, step, answers):
    """Compute raw values of a signal on the records, or on one of their augmentations."""
    if isinstance(signal, AnswerSignal):
        return signal.raw(answers[query], trained.data.y, step)
    return signal.of(trained.model, Records(trained.data.tables[query], trained.data.y))
