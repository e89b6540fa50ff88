"""Forgetting by each model as soon as it is trained, and what its outputs are before and after."""

from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.metrics import r2_score

from ..._core.asking import query_aligned
from ..._core.records import Records
from ..._core.seeding import isolated_randomness
from ..._core.user_functions import call_given
from ..._training.job import Kept, recorded_warnings
from ...signals.auto import COMPARED, auto_of
from ...victims import FunctionClassifier
from .draws import FORGOTTEN, NEVER, RETAINED
from .ways import Forgetting, NoUnlearning, Retraining


class Answers(NamedTuple):
    """What all models answer in one state: before, after, or retrained."""

    values: np.ndarray  # (n_all_models, n), a signal
    scores: np.ndarray  # (n_all_models,), accuracy on records never seen


@dataclass(frozen=True)
class Player:
    """Lets a model forget in several ways and keeps the signals of all records in each state.

    Parameters
    ----------
    ways : dict of str to callable
        Ways of forgetting, by the name of the state that follows.
    records : Records of n records
        All records.
    sides : ndarray of shape (n_all_models, n), dtype int8
        Sides of the records.
    seeds : list of list of SeedSequence
        Seeds of each model, one per way.
    opens : bool, default=False
        Whether a function of users gets what their training function returned.
    """

    ways: dict
    records: Records
    sides: np.ndarray
    seeds: list
    opens: bool = False

    def __call__(self, trained):
        """Signals and scores of a model in each state."""
        k, never = trained.number, self.sides[trained.number] == NEVER
        arrays, facts = {}, {"seconds": {"train": trained.seconds}}
        kind = self._note("before", trained.answers[0], never, arrays, facts)
        for (name, way), seeds in zip(self.ways.items(), self.seeds[k], strict=True):
            with recorded_warnings() as said, isolated_randomness(seeds):
                start = perf_counter()
                model = self._forget(way, trained.model, k, np.random.default_rng(seeds))
                facts["seconds"][name] = perf_counter() - start
                outputs = query_aligned(model, self.records.X, self.records.y)
            trained.warnings += [warning for warning in said if warning not in trained.warnings]
            found = self._note(name, outputs, never, arrays, facts)
            if found != kind:
                raise ValueError(
                    f"Models must answer alike before and after unlearning; got {kind} before and "
                    f"{found} after."
                )
        return Kept(facts, arrays)

    def _forget(self, way, model, k, rng):
        keep, forget = (np.flatnonzero(self.sides[k] == side) for side in (RETAINED, FORGOTTEN))
        if isinstance(way, Forgetting) or not self.opens:
            return _check_model(_call(way, model, self.records, keep, forget, rng))
        return _put(model, _call(way, model.model_, self.records, keep, forget, rng))

    def _note(self, name, outputs, never, arrays, facts):
        if outputs.kind not in COMPARED:
            raise ValueError(
                "An unlearning game needs models that answer with probabilities, decision values "
                f"or numbers; got {outputs.kind}."
            )
        y = self.records.y
        arrays[name] = auto_of(outputs.kind).raw(outputs, y).astype(np.float64)
        arrays[f"{name}_score"] = np.array(_score(outputs, y, never))
        facts.update(kind=outputs.kind, dtype=outputs.values.dtype.str)
        return outputs.kind


def _call(way, *arguments):
    return call_given(way, "unlearn", "f(model, records, keep, forget, rng)", *arguments)


def _put(model, forgotten):
    """A classifier like the one that was trained, around what a function of users returned."""
    if forgotten is None:
        _check_model(forgotten)
    changed = FunctionClassifier(**model.get_params(deep=False))
    vars(changed).update({**vars(model), "model_": forgotten})
    return changed


def _check_model(model):
    if not hasattr(model, "predict"):
        raise TypeError(
            "unlearn must return the model that has forgotten the records; got "
            f"{type(model).__name__}."
        )
    return model


def _score(outputs, y, rows):
    """Accuracy, or coefficient of determination, on some records."""
    if outputs.kind == "value":
        return r2_score(y[rows], outputs.values[rows])
    return outputs[rows].is_correct(y[rows]).mean()


def list_states(way):
    """Ways by the states that follow them, without those whose outcome is known otherwise."""
    if isinstance(way, NoUnlearning):
        return {"retrained": Retraining()}
    return (
        {"after": way} if isinstance(way, Retraining) else {"after": way, "retrained": Retraining()}
    )


def complete(states):
    """Add the states that equal another one: after no unlearning, and retrained."""
    after = states.get("after", states["before"])
    return {
        "before": states["before"],
        "after": after,
        "retrained": states.get("retrained", after),
    }


def join(played, n_shadows):
    """Join the states of all models; infinite values are made finite by the shadow models' step.

    Parameters
    ----------
    played : list of Kept
        Results of all models, shadow models first.
    n_shadows : int
        Number of shadow models; without any, all models give the step.

    Returns
    -------
    states : dict of str to Answers
    """
    first = played[0]
    names = [name for name in first.arrays if not name.endswith("_score")]
    raw = {name: np.array([kept.arrays[name] for kept in played]) for name in names}
    learned = np.concatenate([values[: n_shadows or None] for values in raw.values()])
    signal = auto_of(first.facts["kind"])
    nowhere = np.zeros(learned.shape, dtype=bool)
    smoothing = signal.fit_smoothing(learned[None], nowhere, np.dtype(first.facts["dtype"]))
    scores = {name: np.array([kept.arrays[f"{name}_score"] for kept in played]) for name in names}
    return {name: Answers(smoothing(raw[name]), scores[name]) for name in names}
