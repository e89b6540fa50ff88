"""Numbers of further tables of a generator: one table says nothing of their spread."""

import numpy as np
import pandas as pd

from ..._core.sampling import draw_samples
from .._copy_test import CopyTest
from .._privacy_loss import PrivacyLoss
from ._measure import thin_and_fill
from ._read import unify
from .evidence import FIRST
from .utility import measure_utility

N_TABLES = 5


def measure_spread(generator, tables, settings):
    """Draw further tables and measure each.

    Parameters
    ----------
    generator : fitted generator
    tables : dict of str to DataFrame
        Tables with their own types, as returned by :func:`read_tables`.
    settings : dict
        ``confidence_level`` and ``random_state``.

    Returns
    -------
    spread : DataFrame
        Rows ``"quality"`` and, with a holdout, ``"privacy loss"`` and ``"rare copies"``, the share
        of copied training rows; columns ``mean``, ``sd``, ``smallest``, ``largest``, ``n_tables``.
    """
    rng = np.random.RandomState(settings["random_state"])
    found = [
        _measure_table(unify(tables | {"synthetic": _draw(generator, tables, rng)}), settings)
        for _ in range(N_TABLES)
    ]
    frame = pd.DataFrame(found)
    columns = {"mean": frame.mean(), "sd": frame.std(ddof=1)}
    columns |= {"smallest": frame.min(), "largest": frame.max()}
    return pd.DataFrame(columns).assign(n_tables=N_TABLES)


def _draw(generator, tables, rng):
    made, real = draw_samples(generator, len(tables["synthetic"]), rng), tables["real"]
    if not isinstance(made, pd.DataFrame):
        made = pd.DataFrame(np.asarray(made))
        made.columns = real.columns if made.shape[1] == real.shape[1] else made.columns
    made = made.rename(columns=str).reset_index(drop=True)
    if sorted(made.columns) != sorted(real.columns):
        raise ValueError(
            f"generator must return rows with the {real.shape[1]} columns of the tables; got "
            f"{made.shape[1]} columns."
        )
    return made[real.columns]


def _measure_table(tables, settings):
    rng = np.random.RandomState(settings["random_state"])
    made, real, held = (tables.get(name) for name in ("synthetic", "real", "holdout"))
    overall = measure_utility(made, real, held, settings["confidence_level"], rng)[0]
    found = {"quality": overall.loc["quality", "estimate"]}
    if held is not None:
        thin = thin_and_fill([real, held, made], rng)
        loss = PrivacyLoss(metric="gower", n_permutations=0, **settings).fit(*thin)
        copies = CopyTest(**settings).fit(real, held, made).result_
        found |= {"privacy loss": loss.statistic_, FIRST: copies.loc[FIRST, "share"]}
    return found
