"""One call for the privacy of a synthetic table: tests against a holdout, and a verdict."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from statsmodels.stats.multitest import multipletests

from .._core.numbers import check_number
from .._core.pvalues import format_pvalue
from .._core.randomness import check_random_state
from .._core.types import Seed
from ._copy_test import CopyTest
from ._privacy_loss import PrivacyLoss
from ._risks import InferenceRisk, LinkabilityRisk, SinglingOutRisk
from ._risks._cells import Cells

# With fewer rows, no leak can be told from chance.
_FEW_ROWS = 20
# Rows of each table for the distances of all pairs.
_MOST_ROWS = 2000


@dataclass(frozen=True)
class TableReport:
    """What :func:`audit_table` found.

    Attributes
    ----------
    evidence : {"leak", "none", "unknown"}
        ``"leak"`` if a number is beyond chance after Holm's correction for all numbers,
        ``"unknown"`` without a holdout or with fewer than 20 rows of a table.
    reason : str
        A sentence on the evidence.
    result : DataFrame of shape (n_numbers, 6)
        For each number the ``estimate``, its single limits ``low`` and ``high``, ``pvalue``, and
        ``pvalue_holm``, which decides, and whether it is a ``leak``. Empty without a holdout.
    confidence_level : float
        Confidence level of each interval.
    """

    evidence: Literal["leak", "none", "unknown"]
    reason: str
    result: pd.DataFrame
    confidence_level: float

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a DataFrame.

        Returns
        -------
        result : DataFrame
            A copy of ``result``.
        """
        return self.result.copy()

    def summary(self) -> str:
        """Summarize the evidence and the numbers as text.

        Returns
        -------
        text : str
        """
        lines = [f"evidence: {self.evidence}. {self.reason}"]
        if len(self.result):
            lines.append(f"single intervals at {self.confidence_level:.0%}, p-values after Holm")
        lines += [
            f"{name:24s}{row.estimate:7.3f}  [{row.low:.3f}, {row.high:.3f}]  "
            f"{format_pvalue(row.pvalue_holm, 0)}"
            for name, row in self.result.iterrows()
        ]
        return "\n".join(lines)


def audit_table(
    real: ArrayLike,
    synthetic: ArrayLike,
    holdout: ArrayLike | None = None,
    *,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> TableReport:
    """Audit whether a synthetic table leaks its training rows.

    Runs :class:`PrivacyLoss`, :class:`CopyTest`, :class:`SinglingOutRisk` in both modes,
    :class:`LinkabilityRisk` and :class:`InferenceRisk` for each column, and corrects their p-values
    for all that were computed.

    Parameters
    ----------
    real : DataFrame or array-like of shape (n_real, d)
        Rows that the generator was trained on.
    synthetic : DataFrame or array-like of shape (n_synthetic, d)
        Rows that it returned.
    holdout : DataFrame or array-like of shape (n_holdout, d), default=None
        Rows of the same population that the generator has not seen. Without them nothing can be
        said about leaks.
    confidence_level : float, default=0.95
        Confidence level of each interval; the evidence has the level ``1 - confidence_level`` for
        all numbers together.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are attacked, and permutations.

    Returns
    -------
    report : TableReport
        Evidence and numbers.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    CopyTest : Test whether training rows were copied.

    Notes
    -----
    ``"none"`` says that these attacks found nothing. A generator that changes each training row in
    a way that an attacker can undo passes all of them. The tests assume that training rows and
    holdout come from one population, with all rows of a person in one of them.

    At most 2,000 rows of each table are compared by :class:`PrivacyLoss`, which looks at all pairs.

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
    if holdout is None:
        reason = "Without a holdout, it cannot be said whether the table leaks."
        return TableReport("unknown", reason, pd.DataFrame(), confidence_level)
    random_state = check_random_state(random_state)
    seed = random_state.randint(np.iinfo(np.int32).max)
    # The same columns in the same order, or a sentence on what differs.
    Cells((real, holdout, synthetic), ("real", "holdout", "synthetic"))
    tables = real, holdout, synthetic
    found = _measure(tables, {"confidence_level": confidence_level, "random_state": seed})
    smallest = min(len(table) for table in tables)
    if smallest < _FEW_ROWS:
        reason = f"With {smallest} rows in a table, it cannot be said whether the table leaks."
        return TableReport("unknown", reason, _correct(found, 0.0), confidence_level)
    result = _correct(found, 1 - confidence_level)
    leaks = list(result.index[result["leak"]])
    if leaks:
        names = ", ".join(leaks[:3]) + (f" and {len(leaks) - 3} more" if len(leaks) > 3 else "")
        reason = f"Training rows are attacked better than held-out rows: {names}."
        return TableReport("leak", reason, result, confidence_level)
    reason = f"None of {len(result)} numbers is beyond chance; other attacks may succeed."
    return TableReport("none", reason, result, confidence_level)


def _measure(tables, settings):
    """Estimate, limits and p-value of each number, by its name."""
    rng = np.random.RandomState(settings["random_state"])
    # The smallest p-value has to be below the level after Holm's correction.
    n_numbers = 5 + np.shape(tables[0])[1]
    n_permutations = max(999, int(2 * n_numbers / (1 - settings["confidence_level"])))
    thin = _fill([_thin(table, rng) for table in tables])
    loss = PrivacyLoss(metric="gower", n_permutations=n_permutations, **settings).fit(*thin)
    found = {"privacy loss": (loss.statistic_, *loss.interval_, loss.pvalue_)}
    copies = CopyTest(**settings).fit(*tables).result_.loc["rare copies"]
    found["rare copies"] = tuple(copies[["share", "low", "high", "pvalue"]])
    settings = {**settings, "n_permutations": n_permutations}
    risks = {
        "singling out": SinglingOutRisk(**settings),
        "singling out, one column": SinglingOutRisk("univariate", **settings),
    }
    if np.shape(tables[0])[1] > 1:
        risks["linkability"] = LinkabilityRisk(**settings)
        risks["inference"] = InferenceRisk(**settings)
    for name, risk in risks.items():
        with warnings.catch_warnings():
            # Control records show what a column that determines another one reveals of anybody.
            warnings.filterwarnings("ignore", "In the synthetic table")
            result = risk.fit(*tables).result_
        rows = result if name == "inference" else result.iloc[:1]
        for column, row in rows.iterrows():
            label = f"inference of {column}" if name == "inference" else name
            found[label] = tuple(row[["risk", "low", "high", "pvalue"]])
    return found


def _thin(table, rng):
    """At most 2,000 rows of a table, drawn at random."""
    if len(table) <= _MOST_ROWS:
        return table
    rows = np.sort(rng.choice(len(table), _MOST_ROWS, replace=False))
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else np.asarray(table)[rows]


def _fill(tables):
    """Tables whose columns of numbers lack nothing; whether a value was missing is a category."""
    frames = [pd.DataFrame(table).copy() for table in tables]
    for column in frames[-1].columns:
        lacks = [frame[column].isna() for frame in frames]
        numeric = all(pd.api.types.is_numeric_dtype(frame[column].dtype) for frame in frames)
        if not numeric or not any(part.any() for part in lacks):
            continue
        middle = frames[-1][column].median()
        for frame, part in zip(frames, lacks):
            frame[column] = frame[column].fillna(0.0 if np.isnan(middle) else middle)
            frame[f"{column} is missing"] = part.to_numpy().astype(str)
    return [frame.set_axis(frame.columns.astype(str), axis=1) for frame in frames]


def _correct(found, alpha):
    """Numbers with Holm's p-values; one without a p-value could not be measured."""
    result = pd.DataFrame(found, index=["estimate", "low", "high", "pvalue"]).T.astype(float)
    result["pvalue_holm"] = multipletests(result["pvalue"].fillna(1.0), method="holm")[1]
    return result.assign(leak=result["pvalue_holm"] <= alpha)
