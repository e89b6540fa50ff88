"""What a pool keeps of a shadow model."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .._training.job import Kept
from ._evidence import evidence_of


def check_temperatures(temperatures):
    """Check that temperatures are different positive numbers, one or more."""
    numbers = [isinstance(one, Real) and not isinstance(one, bool) for one in temperatures]
    if not (numbers and all(numbers) and all(0 < one < np.inf for one in temperatures)):
        raise ValueError(
            f"temperatures must be one or more positive numbers; got {temperatures!r}."
        )
    if len({float(one) for one in temperatures}) < len(temperatures):
        raise ValueError(f"temperatures must be different numbers; got {temperatures!r}.")


def compute_evidence(outputs, y, temperatures, step):
    """Evidence at each temperature, shape (n_temperatures, n)."""
    evidence = evidence_of(outputs.kind)
    temperatures = temperatures if evidence.has_temperature else (1.0,)
    raw = [evidence.compute(outputs, y, temperature, step) for temperature in temperatures]
    return evidence, np.array(raw, dtype=np.float32)


@dataclass(frozen=True)
class PoolKeeper:
    """Evidence of the answers to the records and to each augmentation.

    Parameters
    ----------
    temperatures : tuple of float
        At which scaled logits are kept.
    resolution : "auto" or float
        Step of the probabilities.
    store : {"signals", "outputs", "models"}
        What is kept beside the evidence.
    """

    temperatures: tuple
    resolution: object
    store: str

    @property
    def keeps_models(self):
        """Whether the models are kept, as pickles where there is a folder."""
        return self.store == "models"

    def __call__(self, trained):
        """Take the evidence of a trained model."""
        answers, y = trained.answers, trained.data.y
        step = self.resolution
        if step == "auto":
            step = answers[0].find_resolution()
        evidence, first = compute_evidence(answers[0], y, self.temperatures, step)
        rest = [compute_evidence(one, y, self.temperatures, step)[1] for one in answers[1:]]
        values = answers[0].values
        facts = {
            "evidence": evidence.name,
            "step": float(step),
            "dtype": values.dtype.str,
            "kind": answers[0].kind,
        }
        arrays = {"raw": np.stack([first, *rest], axis=1)}  # (n_temperatures, n_queries, n)
        if answers[0].classes is not None:
            arrays["classes"] = np.asarray(answers[0].classes)
        if self.store == "outputs":
            arrays["outputs"] = values.astype(np.float32)
        return Kept(facts, arrays, trained.model if self.keeps_models else None)

    def describe(self):
        """What the evidence depends on beside the models, for the identity of a checkpoint."""
        return {
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
