"""One call for the privacy and the utility of a synthetic table."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._core.circumstances import Clock, list_versions, tell_time
from ..._core.numbers import check_number, show
from ..._core.randomness import check_random_state
from ..._core.sampling import check_generator
from ..._core.types import Seed
from ._checks import make_checks
from ._measure import COLUMNS, measure, measure_shift
from ._read import read_tables, unify
from ._report import TableReport
from ._spread import measure_spread
from .trained import train_on_each
from .utility import measure_utility


def audit_table(
    real: ArrayLike,
    synthetic: ArrayLike,
    holdout: ArrayLike | None = None,
    *,
    generator: Any = None,
    target: str | None = None,
    secrets: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> TableReport:
    """Audit whether a synthetic table leaks its training rows, and what it is good for.

    Runs :class:`CopyTest`, :class:`PrivacyLoss`, four statistics of :class:`GeneratorAttack`,
    :class:`SinglingOutRisk` in both modes, :class:`LinkabilityRisk` and :class:`InferenceRisk` for
    each column, and corrects their p-values for all that were computed. Beside them stands the
    similarity of columns and pairs of columns.

    Parameters
    ----------
    real : DataFrame or array-like of shape (n_real, d)
        Rows that the generator was trained on.
    synthetic : DataFrame or array-like of shape (n_synthetic, d)
        Rows that it returned.
    holdout : DataFrame or array-like of shape (n_holdout, d), default=None
        Rows of the same population that the generator has not seen. Without them nothing can be
        said about leaks.
    generator : fitted generator, default=None
        Generator of the synthetic rows, with a method ``sample(n_samples)``, from which five
        further tables are drawn: ``spread`` of the report says how much tables differ. The evidence
        is on the given table.
    target : str, default=None
        Column for which a model of synthetic rows is compared with a model of training rows, on the
        holdout. If None, no model is trained.
    secrets : sequence of str, default=None
        Columns that an attacker would infer. If None, each column in turn.
    confidence_level : float, default=0.95
        Confidence level of each interval; the evidence has the level ``1 - confidence_level`` for
        all numbers together.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are attacked, permutations and draws.

    Returns
    -------
    report : TableReport
        Evidence, numbers and page.

    Raises
    ------
    ValueError
        If columns differ in name or kind, a table has fewer than two rows, or a parameter is out of
        range.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    CopyTest : Test whether training rows were copied.
    skmia.audit : Audits a model.

    Notes
    -----
    ``"none"`` says that these attacks found nothing. A generator that changes each training row in
    a way that an attacker can undo passes all of them. The tests assume that training rows and
    holdout come from one population, with all rows of a person in one of them; the evidence is
    ``"shift"`` if a model tells the two tables apart without the synthetic rows.

    The p-values are corrected by Holm's procedure. Copies of rare rows, which decide most, have
    half of the level, and all other numbers the other half.

    Dates and durations are compared as numbers of days, and truth values as categories. Numbers
    that have several types are compared at the lowest precision among them.

    At most 2,000 rows of each table are compared by :class:`PrivacyLoss` and
    :class:`GeneratorAttack`, which look at all pairs, and attacked. A half of the holdout is the
    ``reference`` of :class:`GeneratorAttack`.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import audit_table
    >>> real, holdout, fresh = np.random.default_rng(0).normal(size=(3, 150, 4))
    >>> audit_table(real, real, holdout, random_state=0).evidence
    'leak'
    >>> audit_table(real, fresh, holdout, random_state=0).evidence
    'none'
    >>> audit_table(real, fresh).evidence
    'unknown'
    """
    check_number(confidence_level, "confidence_level", "a number in (0, 1)", 1e-9, 1 - 1e-9)
    clock = Clock()
    given = read_tables(real, synthetic, holdout)
    _check_names(given["real"].columns, target, secrets)
    tables = unify(given)
    _check_target(tables, target)
    seed = _draw_seed(random_state)
    settings = {"confidence_level": confidence_level, "random_state": seed}
    wanted = {"target": target, "secrets": None if secrets is None else list(secrets)}
    if generator is not None:
        check_generator(generator)
    privacy, resemblance = _measure_privacy(tables, settings, wanted["secrets"], clock)
    return TableReport(
        **privacy,
        **_measure_use(tables, settings, target, resemblance, clock),
        spread=None if generator is None else _measure_spread(generator, given, settings, clock),
        data={f"n_{name}": len(table) for name, table in tables.items()}
        | {"n_columns": tables["real"].shape[1]},
        settings={**wanted, "confidence_level": confidence_level},
        seeds={"random_state": seed},
        seconds=clock.read(),
        versions=list_versions(),
        created=tell_time(),
        notes=_list_notes(target, tables),
    )


def _measure_privacy(tables, settings, secrets, clock):
    """The numbers of training rows beside held-out rows, with checks, and the resemblance."""
    results, copies, resemblance, shift = pd.DataFrame(columns=COLUMNS), None, None, None
    if "holdout" in tables:
        ordered = [tables[name] for name in ("real", "holdout", "synthetic")]
        results, copies, resemblance = measure(ordered, settings, secrets, clock)
        with clock("holdout"):
            shift = measure_shift(*ordered[:2], settings["random_state"])
    checks = make_checks(tables, shift, copies)
    return {"results": results, "copies": copies, "checks": checks}, resemblance


def _measure_spread(generator, tables, settings, clock):
    with clock("further tables"):
        return measure_spread(generator, tables, settings)


def _measure_use(tables, settings, target, resemblance, clock):
    """What the synthetic rows are good for."""
    level, rng = settings["confidence_level"], np.random.RandomState(settings["random_state"])
    made, real, held = (tables.get(name) for name in ("synthetic", "real", "holdout"))
    with clock("utility"):
        overall, columns, pairs = measure_utility(made, real, held, level, rng)
    trained, rows = None, {}
    if resemblance is not None:
        rows["resemblance loss"] = [*resemblance, np.nan]
    if target is not None and held is not None:
        with clock("models"):
            trained = train_on_each(made, real, held, target, level, rng)
        trained = {"target": target, **trained}
        rows[f"model of {target}"] = [trained[name] for name in ("estimate", "low", "high")] + [1.0]
    if rows:
        added = pd.DataFrame(rows, index=overall.columns, dtype=float).T
        overall = pd.concat([overall, added])
    return {"utility": overall, "columns": columns, "pairs": pairs, "trained": trained}


def _check_names(columns, target, secrets):
    if isinstance(secrets, str):
        raise ValueError(f"secrets must be a sequence of columns; got {show(secrets)}.")
    for name, wanted in [("target", target), *(("secrets", secret) for secret in secrets or ())]:
        if wanted is not None and wanted not in columns:
            raise ValueError(
                f"{name}: {show(wanted)} is not a column of the tables; available columns: "
                f"{', '.join(map(repr, columns[:20]))}."
            )


def _check_target(tables, target):
    if target is None or "holdout" not in tables:
        return
    if tables["real"].shape[1] == 1:
        raise ValueError(f"target={target!r} must not be the only column.")
    for name, table in tables.items():
        if table[target].isna().all():
            raise ValueError(f"target={target!r} must have values in all tables; {name} has none.")


def _draw_seed(random_state):
    """The integer itself if one is given, so that a reported seed can be used again."""
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return int(random_state) if isinstance(random_state, Integral) else int(drawn)


def _list_notes(target, tables):
    if target is not None and "holdout" not in tables:
        return ["No model was trained, because there is no holdout to measure it on."]
    return []
