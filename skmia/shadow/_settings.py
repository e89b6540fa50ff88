"""Checks of the parameters of a pool that go together."""

from sklearn.base import is_regressor

from .._core.asking import unwrap
from ..victims.offers import is_trainable
from ._design import BLOCK
from ._keep import check_outputs_store, check_temperatures, further_signals


def check_settings(pool):
    """Check parameters of a pool that are valid one by one.

    Raises
    ------
    ValueError
        If the estimator cannot be trained, the number of models does not suit the design, signals
        or temperatures cannot be stored, or signals on disk have no folder.
    """
    if pool.estimator is not None and not is_trainable(pool.estimator):
        name = type(unwrap(pool.estimator)).__name__
        raise ValueError(
            f"estimator must be a model that can be trained; {name} asks one that is fitted. Give "
            "an estimator of the kind that it was trained with, if it is known."
        )
    n_models, design = pool.n_estimators, pool.design
    if design == "paired" and n_models % 2:
        raise ValueError(
            "n_estimators must be even because shadow models come in complementary pairs "
            f'(design="independent" draws each by itself); got {n_models}.'
        )
    if design == "balanced" and n_models % BLOCK:
        raise ValueError(
            f"n_estimators must be a multiple of {BLOCK} because shadow models come in blocks "
            f'(design="independent" draws each by itself); got {n_models}.'
        )
    if pool.on_disk and pool.checkpoint is None:
        raise ValueError("on_disk=True requires a folder for the files; set checkpoint.")
    if pool.on_disk and pool.batched is True:
        raise ValueError(
            "batched=True trains many models at once, which on_disk=True does not; set "
            'batched="auto".'
        )
    if pool.output_kind == "label" and is_regressor(unwrap(pool.estimator)):
        name = type(unwrap(pool.estimator)).__name__
        raise ValueError(f'output_kind="label" is for classifiers; {name} is a regressor.')
    check_outputs_store(pool.store, pool._expected_kind())
    check_temperatures(pool.temperatures)
    further_signals(pool.signals)
