"""One call for the privacy and the utility of a synthetic table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OrdinalEncoder

from ..._core.brief import NamedChecks
from ..._core.escaping import visible
from ..._core.levels import Level
from ..._core.numbers import check_number, show
from ..._core.pages import frame_page
from ..._core.provenance import PartClock, list_versions, tell_time
from ..._core.pvalues import is_significant
from ..._core.query import check_generator, draw_samples
from ..._core.randomness import check_random_state, derive_random_state
from ..._core.saving import warn_of_failures, write_json, write_text
from ..._core.text import count_more, tell_percent
from ..._core.types import ArrayLike, PathLike, Seed
from ...metrics import compute_auc
from .._copy_test import CopyTest, count_unchanged
from .._kinds import unify
from .._neighbors import MOST_COMPARED, as_frame, is_number_dtype
from ._columns import (
    count_copied_identifiers,
    find_identifiers,
    fit_columns,
    is_named,
    list_briefly,
    unify_tables,
)
from ._evidence import (
    FIRST,
    PERSONS,
    POWER,
    ROWS,
    TableGrounds,
    choose_table_evidence,
    count_units,
    format_share,
    measure_table_level,
    read_units,
    write_table_verdict,
)
from ._measure import (
    COLUMNS,
    MOST_ROWS,
    NOT_RUN,
    PASSED,
    STATED,
    WARNING,
    check_shift,
    measure_loss,
    measure_shift,
    measure_synthetic_table,
    measure_utility,
    thin,
)
from ._people import find_repeated_persons, group_of, leave_out_shared, read_people
from ._person_table import join_tables_of_persons
from ._report import (
    TITLE,
    as_table_document,
    format_short_table,
    format_table_markdown,
    format_table_summary,
    render_table,
    save_table,
)

if TYPE_CHECKING:
    from ...disclosure import Recommendation

# Share of the training rows with an equal row in the holdout from which there is a warning.
_MANY = 0.1


_NO_HOLDOUT = "There is no holdout."


def make_checks(tables, shift, copies, columns, people, units):
    """Return the checks of an audit; units: what each compared row is."""
    checks = {"columns fit": _check_real_values(columns)}
    if columns.copied:
        copied = {"status": WARNING, "text": f"{list_briefly(columns.copied)}."}
        checks["identifiers"] = copied
    if "holdout" not in tables:
        text = "Too few persons are in one table only." if people.n_shared else _NO_HOLDOUT
        missing = {"status": NOT_RUN, "text": text, "interval": None}
        names = ("one population", "rows of one person", "duplicates", "resolution")
        found = {name: dict(missing) for name in names}
        if people.n_shared:
            found["rows of one person"] = _check_people(people, units)
        return NamedChecks(found | checks)
    return NamedChecks(
        {
            "one population": check_shift(shift, units),
            "rows of one person": _check_people(people, units),
            "duplicates": _check_duplicates(tables["real"], tables["holdout"], units),
            "resolution": _check_resolution(copies, people, units),
            **checks,
        }
    )


def _check_real_values(columns):
    """Return whether the values of the synthetic columns are values of real rows."""
    fit, parts = columns.fit, []
    if fit.unfit:
        parts.append(list_briefly(fit.unfit))
        if fit.left_out:
            parts.append("A column without a common value is compared by similarity alone")
    if fit.changed:
        parts.append(list_briefly(fit.changed))
    if not parts:
        parts = ["Values of the synthetic columns are of the kinds and ranges of real rows"]
    status = WARNING if fit.unfit else PASSED
    return {"status": status, "text": f"{'. '.join(parts)}."}


def _check_people(people, units):
    """Return whether rows of one person are known, and in one table."""
    if people.n_shared:
        share = f"{people.n_shared:,} persons have rows in both tables"
        rows = " and ".join(f"{n:,}" for n in people.n_left_out)
        text = (
            f"{share}; their {rows} rows of training table and holdout are left out of the "
            "comparison. Assign all rows of a person to one table before the generator is trained."
        )
        return {"status": WARNING, "text": text}
    if people.columns:
        text = (
            f"Rows that agree in {_join_names(people.columns)} are in one table only, as rows of "
            "one person are, and are taken for one person's. Name the column of persons with "
            "group_by, on the command line --person."
        )
        return {"status": WARNING, "text": text}
    if people.repeated:
        text = (
            f"{tell_percent(people.share_repeated)} of the real rows agree with others in "
            f"{_join_names(people.repeated)}, far more than by chance. If these are rows of one "
            "person, name the column of persons with group_by, on the command line --person."
        )
        return {"status": WARNING, "text": text}
    if people.groups is None and units == PERSONS:
        text = "Each compared row is a person, by the key of the tables."
    elif people.groups is None:
        text = "No combination of values repeats as in rows of one person; each row is a person."
    else:
        text = "All rows of a person are in one table."
    return {"status": PASSED, "text": text}


def _join_names(names):
    shown = [repr(name) for name in names[:4]]
    more = f" and {count_more(len(names) - 4, 'column')}" if len(names) > 4 else ""
    return ", ".join(shown) + more


def _check_duplicates(real, holdout, units):
    share = count_unchanged(real, holdout)["train"] / len(real)
    text = f"{100 * share:.3g}% of the training {units.many} have an equal one in the holdout"
    if share <= _MANY:
        return {"status": PASSED, "text": f"{text}."}
    return {
        "status": WARNING,
        "text": f"{text}. A copy of one is also a copy of the other, so the numbers are too small. "
        "Are rows of one person in both tables?",
    }


def _check_resolution(copies, people, units):
    shares = {name: copies.loc[name, "smallest_share_corrected"] for name in (FIRST, "near copies")}
    of = f"training {units.many}" if people.groups is None else "persons"
    text = (
        f"Exact copies of {format_share(shares[FIRST])} of the {of}, or near copies of "
        f"{format_share(shares['near copies'])}, would have been found with a probability of "
        f"{100 * POWER:g}%."
    )
    return {"status": STATED, "text": text}


N_TABLES = 5
# A higher level takes millions of permutations of each number.
_LARGEST_LEVEL = 0.999


def measure_spread(generator, tables, columns, settings, secrets, people):
    """Draw further tables and measure each, as the given one is measured.

    columns: those of the training rows, of which tables have the ones that are compared.
    """
    rng = derive_random_state(settings["random_state"], "further tables")
    found = []
    for _ in range(N_TABLES):
        made = _draw_synthetic_table(generator, tables, columns.names, rng)
        drawn, fit = fit_columns(tables | {"synthetic": made})
        hidden = _leave_out(drawn, columns._replace(fit=fit), secrets)
        found.append(_measure_table(unify(drawn), hidden, settings, people))
    frame = pd.DataFrame(found)
    columns = {"mean": frame.mean(), "sd": frame.std(ddof=1)}
    columns |= {"smallest": frame.min(), "largest": frame.max()}
    return pd.DataFrame(columns).assign(n_tables=N_TABLES)


def _draw_synthetic_table(generator, tables, names, rng):
    made, real = draw_samples(generator, len(tables["synthetic"]), rng), tables["real"]
    is_named, made = hasattr(made, "columns"), as_frame(made, "The table of the generator")
    if not is_named:
        made.columns = names if made.shape[1] == len(names) else made.columns
    made = made.rename(columns=str).reset_index(drop=True)
    if not set(real.columns) <= set(made.columns) <= set(names):
        raise ValueError(
            f"generator must return rows with the {len(names)} columns of the tables; got "
            f"{made.shape[1]} columns."
        )
    return made[real.columns]


def _measure_table(tables, hidden, settings, people):
    """Return the quality of a table and its first privacy numbers, which hidden columns lack."""
    rng = derive_random_state(settings["random_state"], "rows of further tables")
    made, real, held = (tables.get(name) for name in ("synthetic", "real", "holdout"))
    overall = measure_utility(made, real, held, settings["confidence_level"], rng)[0]
    found = {"quality": overall.loc["quality", "estimate"]}
    if held is not None:
        compared = [table.drop(columns=hidden) for table in (real, held, made)]
        groups = None if people is None else (people["real"], people["holdout"])
        copies = CopyTest(**settings).fit(*compared, groups=groups).result_
        loss = measure_loss(compared, settings, 0, people)[0]
        found |= {"privacy loss": loss["estimate"], FIRST: copies.loc[FIRST, "share"]}
    return found


_N_DRAWS = 100
_FOREST = {"n_estimators": 100, "min_samples_leaf": 5}
# A target of more different numbers than this is a number to predict, not a class.
_MOST_CLASSES = 20


def train_on_each(synthetic, real, holdout, target, confidence_level, rng, people=None):
    """Return how much of what a model of real rows gains a model of synthetic rows gains as well.

    Both are random forests with one seed, measured on the holdout: AUC for two classes, accuracy
    for more, R2 for numbers.

    Return found: metric, its chance, its value synthetic and real, and the ratio of what both gain
    over chance, estimate, with its limits low and high over draws of the holdout; NaN if the model
    of real rows gains nothing.
    """
    known = [table[table[target].notna()] for table in (synthetic, real, holdout)]
    tables = [thin(table, rng, MOST_ROWS) for table in known]
    y = [table[target].to_numpy() for table in tables]
    seed, held = rng.randint(np.iinfo(np.int32).max), y[2]
    metric, score = _choose_metric(real[target], held)
    if metric != "R2":
        y, held = [part.astype(str) for part in y], held.astype(str)
    answers = [
        _fit_target_model(tables[k], y[k], tables[2], held, target, metric, seed) for k in (0, 1)
    ]
    persons = group_of(people, tables[2], "holdout")
    draws = np.array(
        [
            [score(held[rows], answer[rows]) for answer in answers]
            for rows in (_draw_bootstrap(len(held), persons, rng) for _ in range(_N_DRAWS))
        ]
    )
    chance = {"AUC": 0.5, "R2": 0.0}.get(metric)
    if chance is None:
        chance = float(np.unique(held, return_counts=True)[1].max() / len(held))
    made, own = (score(held, answer) for answer in answers)
    found = {"metric": metric, "chance": chance, "synthetic": made, "real": own}
    return found | _divide_gain(made - chance, own - chance, draws - chance, confidence_level)


def _draw_bootstrap(n_rows, persons, rng):
    """Return places of as many rows, or of the rows of as many persons, drawn with replacement."""
    if persons is None:
        return rng.randint(n_rows, size=n_rows)
    _, codes = np.unique(persons, return_inverse=True)
    n_persons = codes.max() + 1
    times = np.bincount(rng.randint(n_persons, size=n_persons), minlength=n_persons)
    return np.repeat(np.arange(n_rows), times[codes])


def _divide_gain(gained, possible, draws, confidence_level):
    if not possible > 0:
        return dict.fromkeys(("estimate", "low", "high"), np.nan)
    ratio = gained / possible
    # The delta method on the draws, in which a small denominator does no harm.
    error = np.nanstd(draws[:, 0] - ratio * draws[:, 1], ddof=1) / possible
    reach = norm.ppf((1 + confidence_level) / 2) * error
    return {"estimate": ratio, "low": ratio - reach, "high": ratio + reach}


def _choose_metric(column, held):
    if is_number_dtype(column.dtype) and column.nunique() > _MOST_CLASSES:
        return "R2", lambda y, guess: 1 - np.mean((y - guess) ** 2) / max(np.var(y), 1e-300)
    classes = np.unique(held.astype(str))
    if len(classes) == 2:

        def auc(y, scores):
            is_last = y == classes[1]
            return compute_auc(is_last, scores) if 0 < is_last.sum() < len(y) else np.nan

        return "AUC", auc
    return "accuracy", lambda y, guess: float(np.mean(y == guess))


def _fit_target_model(table, y, held, y_held, target, metric, seed):
    """Return answers for the held-out rows of a model of a table."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = [
        name
        for name in table.columns.drop(target)
        if pd.api.types.is_numeric_dtype(table[name]) and pd.api.types.is_numeric_dtype(held[name])
    ]
    words = list(table.columns.drop([target, *numbers]))
    parts = [[part[numbers].to_numpy(dtype=float, na_value=np.nan) for part in (table, held)]]
    if words:
        encoder.fit(table[words].astype(str))
        parts.append([encoder.transform(part[words].astype(str)) for part in (table, held)])
    X, held = (np.column_stack(part) for part in zip(*parts))
    if metric == "R2":
        return RandomForestRegressor(**_FOREST, random_state=seed).fit(X, y).predict(held)
    classes = np.unique(y)
    last = np.unique(y_held)[-1]
    if len(classes) == 1 or (metric == "AUC" and last not in classes):
        return np.zeros(len(held)) if metric == "AUC" else np.full(len(held), classes[0])
    model = RandomForestClassifier(**_FOREST, random_state=seed).fit(X, y)
    if metric == "AUC":
        return model.predict_proba(held)[:, list(classes).index(last)]
    return model.predict(held)


@dataclass(frozen=True, eq=False, repr=False)
class TableReport:
    """What :func:`audit_table` found.

    In a notebook, it is displayed as the page.

    Attributes
    ----------
    results : DataFrame of shape (n_numbers, 11)
        For each number the ``estimate`` of the excess of training rows over held-out rows and its
        single limits ``low`` and ``high``; the success on training rows (``attack``), on held-out
        rows (``control``) and of guesses (``naive``), with the numbers of rows ``n_attacks`` and
        ``n_controls``; ``pvalue``, ``pvalue_below`` for the other direction, and ``pvalue_holm``,
        which decides. Empty without a holdout.
    unchanged : dict of str to int or None
        Training rows that are in the synthetic table as they are (``train`` of ``n_train``), those
        of them that no other real row equals (``alone``), and held-out rows (``test`` of
        ``n_test``, None without a holdout). Held-out rows of persons who are also in the training
        table are not counted.
    copies : DataFrame or None
        Result of the :class:`CopyTest`, and the smallest share of copies that would have been found
        after the correction, ``smallest_share_corrected``.
    utility : DataFrame
        ``estimate``, ``low`` and ``high`` of the similarity of ``"columns"``, of ``"pairs"`` of
        columns, and of their mean, ``"quality"``; of the ``"resemblance loss"``; and of the share
        of a model's gain over guessing that a model of synthetic rows reaches. ``real`` is what the
        training rows reach.
    columns, pairs : DataFrame
        Similarity of each column and of each pair, with the same columns.
    trained : dict or None
        The models of ``target``: ``metric``, ``chance``, ``synthetic``, ``real``.
    spread : DataFrame or None
        Quality, privacy loss and share of rare copies of five further tables of the generator, if
        it was given: ``mean``, ``sd``, ``smallest``, ``largest``, ``n_tables``.
    checks : dict of str to dict
        ``status`` and ``text`` of each check; for "one population" the AUC and its ``interval``.
    data : dict
        ``n_real``, ``n_synthetic``, ``n_holdout``, ``n_columns``; ``identifiers``, the names of the
        columns of identifiers, which are left out; ``unit``, what each compared row is, "row" or
        "person"; for rows of persons ``n_persons_real`` and ``n_persons_holdout``, who are in this
        table alone, and ``n_persons_shared``, who are in both and left out.
    settings, seeds : dict
        Parameters, and the integer that all draws begin with.
    seconds, versions : dict
        Time spent on each part, in seconds; versions of Python and of the packages.
    created : str
        Time at which the audit ended, ISO 8601 in UTC.
    notes : list of str
        What a reader should know.
    recommendation : Recommendation or None
        What a policy recommends, see :func:`skmia.report.recommend_release`, if one was asked.
    grounds : TableGrounds
        The part of the findings on which evidence and verdict rest.
    evidence : {"leak", "none", "shift", "reversed", "unknown"}
        Conclusion of the audit; :ref:`the guide <table_verdict>` says what each word means.
    verdict : str
        The conclusion in words, after a headline.
    level : Level
        How much the table reveals, as :attr:`skmia.report.AuditReport.level`: in ``numbers`` the
        "excess" that set it, and in ``groups`` the level of each number.

    See Also
    --------
    audit_table : Audits a synthetic table and returns this report.
    """

    results: pd.DataFrame
    unchanged: dict[str, int | None]
    copies: pd.DataFrame | None
    utility: pd.DataFrame
    columns: pd.DataFrame
    pairs: pd.DataFrame
    trained: dict[str, Any] | None
    spread: pd.DataFrame | None
    checks: dict[str, dict[str, Any]]
    data: dict[str, Any]
    settings: dict[str, Any]
    seeds: dict[str, Any]
    seconds: dict[str, float]
    versions: dict[str, str]
    created: str
    notes: list[str]
    recommendation: "Recommendation | None" = None

    @property
    def grounds(self) -> "TableGrounds":
        level, shift = self.settings["confidence_level"], self.checks["one population"]
        rows = count_units(self.data)
        share = np.inf
        if self.copies is not None:
            share = float(self.copies.loc[FIRST, "smallest_share_corrected"])
        results = self.results.assign(leak=is_significant(self.results["pvalue_holm"], 1 - level))
        text = shift["text"] if shift["status"] == "warning" else None
        units = read_units(self.data)
        return TableGrounds(results, rows, level, share, text, self.unchanged, units)

    @property
    def evidence(self) -> Literal["leak", "none", "shift", "reversed", "unknown"]:
        return choose_table_evidence(self.grounds)

    @property
    def verdict(self) -> str:
        return write_table_verdict(self.grounds, self.evidence)

    @property
    def level(self) -> Level:
        return measure_table_level(self.grounds, self.evidence)

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a DataFrame.

        Returns
        -------
        frame : DataFrame
            A copy of ``results``.
        """
        return self.results.copy()

    def to_json(self, path: PathLike | None = None) -> str:
        """Return the report as a JSON document.

        Its ``schema`` is "skmia.table" and its ``schema_version`` 1. Missing numbers are null.
        Fields may be added without a new version; if a field is removed or changes its meaning, the
        version is raised.

        Parameters
        ----------
        path : str or path, default=None
            File to which the document is also written, atomically and readable by its owner only.

        Returns
        -------
        text : str
            The report as JSON.
        """
        return write_json(as_table_document(self), path)

    def to_html(self, path: PathLike | None = None, *, title: str | None = None) -> str:
        """Return the report as a page that needs no other file and no network.

        It begins with the level, and holds no script.

        Parameters
        ----------
        path : str or path, default=None
            File to which the page is also written, atomically and readable by its owner only.
        title : str, default=None
            Title of the page, after the level. If None, it names the table.

        Returns
        -------
        page : str
            HTML.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        return write_text(render_table(as_table_document(self), title), path)

    def summary(self, verbose: bool = False) -> str:
        """Return the report as text, in lines of at most 80 characters, in the order of the page.

        Parameters
        ----------
        verbose : bool, default=False
            Whether all numbers, checks and notes follow, in lines of at most 100 characters.

        Returns
        -------
        text : str
        """
        document = as_table_document(self)
        details = ["", format_table_summary(document)] if verbose else []
        return "\n".join([*format_short_table(document), *details])

    def to_markdown(self, title: str = TITLE) -> str:
        """Return the report as Markdown, for a merge request or a data sheet.

        Parameters
        ----------
        title : str, default="Audit of a synthetic table"
            Heading.

        Returns
        -------
        text : str
            Verdict, tables of the numbers, checks and notes; names are escaped.
        """
        return format_table_markdown(as_table_document(self), title)

    def save(self, directory: PathLike) -> list[Path]:
        """Write ``table.json`` and ``report.html``, each of them atomically.

        Only the user can read the files (mode 600). What an earlier audit has left under the name
        of a file that is not made, also its decision sheet, is removed.

        Parameters
        ----------
        directory : str or path
            Folder, which is created if it does not exist. A name that ends in ``.html`` is the name
            of the page; the numbers are in the same folder and share its name.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        FileExistsError
            If a decision is recorded in the folder, under the same name.

        Warns
        -----
        RuntimeWarning
            If the page could not be made though its package is installed.
        """
        return warn_of_failures(save_table(as_table_document(self), directory))

    def _repr_html_(self):
        return frame_page(self, TITLE)

    def __repr__(self):
        return f"TableReport({self.data['n_synthetic']} rows, evidence={self.evidence!r})"


def audit_table(
    real: ArrayLike | Mapping[str, ArrayLike],
    synthetic: ArrayLike | Mapping[str, ArrayLike],
    held_out: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    group_by: str | Sequence[ArrayLike] | None = None,
    keys: str | Mapping[str, str] | None = None,
    identifiers: Literal["auto"] | Sequence[str] = "auto",
    generator: Any = None,
    target: str | None = None,
    secrets: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> TableReport:
    """Audit whether a synthetic table leaks its training rows, and what it is good for.

    Runs :class:`CopyTest`, :class:`PrivacyLoss`, four statistics of :class:`GeneratorAttack`,
    :class:`SinglingOutRisk` in both modes, :class:`LinkabilityRisk` and :class:`InferenceRisk` for
    each column, and corrects their p-values for all that were computed. The report also measures
    the similarity of columns and pairs of columns.

    Parameters
    ----------
    real : DataFrame or array-like of shape (n_real, d), or dict of DataFrame
        Rows that the generator was trained on; or several tables by name, with `keys`.
    synthetic : DataFrame or array-like of shape (n_synthetic, d), or dict of DataFrame
        Rows that it returned.
    held_out : DataFrame or array-like of shape (n_held_out, d), or dict, default=None
        Rows of the same population that the generator has not seen. Without them nothing can be
        said about leaks.
    group_by : str or sequence of array-like, default=None
        Column that names the person of each row, or an array of the persons of ``real`` and one of
        ``held_out``. The column is not compared. Persons then take the place of rows: all tests
        exchange persons, and rows of persons who are in both tables are left out. If None, rows are
        assumed to belong to one person only if their columns repeat together in one of the two
        tables alone.
    keys : str or dict of str to str, default=None
        Of several tables, such as patients and visits: the column that names the person in each, by
        table, or in all of them. Each person is then one row that is compared, with the columns of
        tables that have one row a person, and a summary of their rows in the others; the names of
        these columns begin with the table.
    identifiers : "auto" or sequence of str, default="auto"
        Columns that name rows, such as numbers that count them, codes or times of creation, which
        are left out. With "auto", they are recognized; an empty sequence keeps all columns.
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
        all numbers together. At most 0.999: of m numbers, each then takes 5,000 m permutations.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are attacked, permutations and draws.

    Returns
    -------
    report : TableReport
        Evidence, numbers and page.

    Raises
    ------
    ValueError
        If columns differ in name or kind, a table has fewer than two rows, a person has no name, or
        a parameter is out of range.

    See Also
    --------
    PrivacyLoss : Test whether synthetic rows are near training rows.
    CopyTest : Test whether training rows were copied.
    skmia.audit : Audits a model.

    Notes
    -----
    The tests assume that training rows and holdout come from one population, with all rows of a
    person in one of them. :ref:`The guide <table_verdict>` explains the evidence, the numbers and
    how their p-values are corrected, and what passes all tests.

    Dates and durations are compared as numbers of days, and truth values as categories. A missing
    category is a category, and a missing number is at distance 1 from any number. Numbers are
    compared at the precision and the decimals of the table that has the fewest. Text that differs
    by blanks, case or the form of numbers and dates is compared in one form, if no two values of a
    table become equal. Texts such as "" and "nan" are missing values if a table has them in the
    place of those of another table. The check "columns fit" says so, and names columns whose values
    do not fit.
    At most 2,000 rows of each table are compared by distance, and attacked.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import audit_table
    >>> real, held_out, fresh = np.random.default_rng(0).normal(size=(3, 60, 2))
    >>> audit_table(real, real, held_out, random_state=0).evidence
    'leak'
    >>> audit_table(real, fresh, held_out, random_state=0).evidence
    'none'
    >>> audit_table(real, fresh).evidence
    'unknown'
    """
    joined = _join_given_tables(real, synthetic, held_out, keys, group_by, generator)
    return audit_units_of_table(
        *joined,
        group_by=group_by,
        identifiers=identifiers,
        generator=generator,
        target=target,
        secrets=secrets,
        confidence_level=confidence_level,
        random_state=random_state,
    )


def audit_units_of_table(
    real,
    synthetic,
    held_out=None,
    told=(),
    units=ROWS,
    *,
    group_by=None,
    identifiers="auto",
    generator=None,
    target=None,
    secrets=None,
    confidence_level=0.95,
    random_state=None,
):
    """Audit a table of which each row is a unit; for the parameters see :func:`audit_table`.

    told: notes on how the tables were read. units: what the rows are.
    """
    check_number(
        confidence_level, "confidence_level", "a number in (0, 0.999]", 1e-9, _LARGEST_LEVEL
    )
    clock = PartClock()
    columns, people = _read_given_tables(real, synthetic, held_out, group_by, identifiers)
    _check_target_names(columns.tables["real"].columns, target, secrets)
    tables = unify(columns.tables)
    _check_target_column(tables, target)
    if generator is None:
        columns = columns._replace(tables={})  # held no longer
    seed = _draw_seed(random_state)
    settings = {"confidence_level": confidence_level, "random_state": seed}
    wanted = _list_wishes(target, secrets, group_by, identifiers)
    if generator is not None:
        check_generator(generator)
    if people.groups is None and group_by is None and held_out is not None:
        tables, people = _look_for_persons(tables, wanted, seed)
    hidden = _leave_out(tables, columns, secrets)
    kept, people = leave_out_shared(tables, people)
    # All training rows, beside held-out rows of persons who are not in the training table.
    seen = tables | {"holdout": kept.get("holdout")}
    compared = [seen[name].drop(columns=hidden) for name in _NAMES if seen[name] is not None]
    unchanged = count_unchanged(*compared)
    privacy, resemblance = _measure_privacy(
        kept, settings, wanted["secrets"], clock, columns, people, units
    )
    use = _measure_use(kept, settings, target, resemblance, clock, people.groups)
    drawn_from = [kept[name] for name in _NAMES if name in kept]
    spread, notes = None, [*told, *_list_notes(columns, drawn_from)]
    if generator is not None:
        with clock("further tables"):
            read = _keep_rows(columns.tables, people, kept)
            given = generator, read, columns, settings
            spread = measure_spread(*given, wanted["secrets"], people.groups)
    if target is not None and "holdout" not in kept:
        lacking = "there is no holdout" if held_out is None else "too few held-out persons are new"
        notes.append(f"No model was trained, because {lacking} to measure it on.")
    return TableReport(
        **privacy,
        **use,
        unchanged=unchanged,
        spread=spread,
        data=_describe_data(tables, columns, people, units),
        settings={**wanted, "confidence_level": confidence_level},
        seeds={"random_state": seed},
        seconds=clock.read(),
        versions=list_versions(),
        created=tell_time(),
        notes=notes,
    )


def _list_wishes(target, secrets, group_by, identifiers):
    """Return what was asked for, as the settings of a report hold it."""
    return {
        "target": target,
        "secrets": None if secrets is None else list(secrets),
        "group_by": group_by if isinstance(group_by, str) else None,
        "identifiers": None if isinstance(identifiers, str) else list(identifiers),
    }


def _look_for_persons(tables, wanted, seed):
    """Return tables without names of persons, each of which one has alone, and the persons."""
    people = find_repeated_persons(tables, seed)
    names = {name for name in people.columns if is_named(name)}
    names -= {wanted["target"], *(wanted["secrets"] or ())}
    if len(names) < tables["real"].shape[1]:
        tables = {name: table.drop(columns=list(names)) for name, table in tables.items()}
    return tables, people


def _keep_rows(tables, people, compared):
    """Return tables as they were read, of the rows and columns of those that are compared."""
    rows, columns = people.kept or {}, list(compared["real"].columns)
    return {
        name: (table[rows[name]].reset_index(drop=True) if name in rows else table)[columns]
        for name, table in tables.items()
        if name in compared
    }


_NAMES = ("real", "synthetic", "holdout")


class _ComparedColumns(NamedTuple):
    """The tables as they are compared, and what became of their columns."""

    tables: dict
    names: list  # all columns of the training rows
    identifiers: dict  # what they hold, by name
    copied: list  # sentences on identifiers that are in the synthetic table
    matches: Any  # which rows of both real tables have such an identifier, or None
    fit: Any


def _join_given_tables(real, synthetic, holdout, keys, group_by, generator):
    """Return tables, joined to a row for each person if several are given; notes, and units."""
    given = {"real": real, "synthetic": synthetic, "held_out": holdout}
    given = {name: tables for name, tables in given.items() if tables is not None}
    several = [name for name, tables in given.items() if isinstance(tables, Mapping)]
    if keys is None and not several:
        return real, synthetic, holdout, [], ROWS
    if keys is None:
        raise ValueError(f"{several[0]} has several tables: name the column of persons by keys.")
    for name, other in (("group_by", group_by), ("generator", generator)):
        if other is not None:
            raise ValueError(f"{name} is not taken with keys, by which each row is a person.")
    joined = join_tables_of_persons(given, keys)
    tables = (joined.tables.get(name) for name in ("real", "synthetic", "held_out"))
    return *tables, joined.notes, PERSONS


def _read_given_tables(real, synthetic, holdout, group_by, identifiers):
    given = {"real": real, "synthetic": synthetic}
    given |= {} if holdout is None else {"holdout": holdout}
    given = {name: as_frame(table, name) for name, table in given.items()}
    names = list(map(str, given["real"].columns))
    given, people = read_people(given, group_by)
    tables, lacking = unify_tables(given)
    found = _check_identifiers(tables, identifiers)
    matches, copied = _count_identifiers(tables, found)
    tables = {name: table.drop(columns=list(found)) for name, table in tables.items()}
    if not tables["real"].shape[1]:
        raise ValueError(
            f"All columns are identifiers, such as {next(iter(found))!r}; name those that are not "
            "to be left out by identifiers=[...]."
        )
    tables, fit = fit_columns(tables)
    return _ComparedColumns(tables, names, found | lacking, copied, matches, fit), people


def _check_identifiers(tables, wanted):
    if isinstance(wanted, str) and wanted == "auto":
        return find_identifiers(tables)
    if isinstance(wanted, str) or not np.iterable(wanted):
        raise ValueError(
            f"identifiers must be 'auto' or a sequence of columns; got {show(wanted)}."
        )
    for name in wanted:
        if name not in tables["real"].columns:
            raise ValueError(
                f"identifiers: {show(name)} is not a column of the tables; available columns: "
                f"{', '.join(map(repr, tables['real'].columns[:20]))}."
            )
    return dict.fromkeys(wanted, "identifiers by name")


def _count_identifiers(tables, found):
    """Which real rows have an identifier of the synthetic table, with sentences on each column."""
    matches, told = None, []
    for name, words in found.items():
        if words.startswith(("numbers", "times")):
            continue  # equal in all tables by nature
        copied = count_copied_identifiers(tables, name)
        if copied is None or not any(part.any() for part in copied.values()):
            continue
        counts = (
            f"of {copied[key].sum():,} of {len(copied[key]):,} {kind} rows"
            for key, kind in (("real", "training"), ("holdout", "held-out"))
            if key in copied
        )
        told.append(f"column {visible(name)!r} has the identifiers {' and '.join(counts)}")
        if "holdout" not in copied:
            continue
        both = np.append(copied["real"], copied["holdout"])
        matches = both if matches is None else matches | both
    return matches, told


def _list_notes(columns, tables):
    notes = [] if max(map(len, tables)) <= MOST_COMPARED else [_tell_sample(tables)]
    if not columns.identifiers:
        return notes
    named = [f"{visible(name)!r} ({words})" for name, words in columns.identifiers.items()]
    return [
        *notes,
        f"Columns of identifiers are left out of all comparisons: {', '.join(named)}. "
        "identifiers=[...], on the command line --keep, chooses them.",
    ]


def _tell_sample(tables):
    """Return what was done with some of the rows, as a sentence."""
    kinds = ("training", "synthetic", "held-out")
    parts = [
        f"{min(len(table), MOST_COMPARED):,} of {len(table):,} {kind} rows"
        for table, kind in zip(tables, kinds)
    ]
    if len(tables) < 3:
        return f"Similarity is of at most {MOST_ROWS:,} rows of each table, drawn at random."
    made = parts.pop(1)
    return (
        f"Linkability, inference and near copies are of {' and '.join(parts)}, drawn at random, "
        "and search all synthetic rows; privacy loss and membership compare as many with "
        f"{made}; exact copies are looked for in all rows."
    )


def _describe_data(tables, columns, people, units):
    data = {f"n_{name}": len(table) for name, table in tables.items()}
    data |= {"n_columns": tables["real"].shape[1], "identifiers": list(columns.identifiers)}
    data |= {"unit": units.one}
    if units == PERSONS:
        data |= {
            f"n_persons_{name}": len(tables[name]) for name in ("real", "holdout") if name in tables
        }
        data |= {"n_persons_shared": 0}
    if people.groups is not None:
        counts = people.n_left or {name: len(np.unique(n)) for name, n in people.groups.items()}
        data |= {f"n_persons_{name}": n for name, n in counts.items()}
        data |= {"n_persons_shared": people.n_shared}
    return data


def _leave_out(tables, columns, secrets):
    """Return columns of which no synthetic value is a real one, so that they would hide copies."""
    names = [name for name in columns.fit.left_out if name not in (secrets or ())]
    return names if len(names) < tables["real"].shape[1] else []


def _measure_privacy(tables, settings, secrets, clock, columns, people, units):
    """Return numbers of training rows beside held-out rows, with checks, and the resemblance."""
    results, copies, resemblance, shift = pd.DataFrame(columns=COLUMNS), None, None, None
    if "holdout" in tables:
        ordered = [tables[name] for name in ("real", "holdout", "synthetic")]
        compared = [table.drop(columns=_leave_out(tables, columns, secrets)) for table in ordered]
        matches = columns.matches
        if matches is not None and people.kept is not None:
            matches = matches[np.concatenate(list(people.kept.values()))]
        found = measure_synthetic_table(compared, settings, secrets, clock, people.groups, matches)
        results, copies, resemblance = found
        with clock("holdout"):
            shift = measure_shift(*ordered[:2], settings["random_state"], people.groups)
    checks = make_checks(tables, shift, copies, columns, people, units)
    return {"results": results, "copies": copies, "checks": checks}, resemblance


def _measure_use(tables, settings, target, resemblance, clock, people):
    level = settings["confidence_level"]
    rng = derive_random_state(settings["random_state"], "utility")
    made, real, held = (tables.get(name) for name in ("synthetic", "real", "holdout"))
    with clock("utility"):
        overall, columns, pairs = measure_utility(made, real, held, level, rng, people)
    trained, rows = None, {}
    if resemblance is not None:
        rows["resemblance loss"] = [*resemblance, np.nan]
    if target is not None and held is not None:
        with clock("models"):
            trained = train_on_each(made, real, held, target, level, rng, people)
        trained = {"target": target, **trained}
        rows[f"model of {target}"] = [trained[name] for name in ("estimate", "low", "high")] + [1.0]
    if rows:
        added = pd.DataFrame(rows, index=overall.columns, dtype=float).T
        overall = pd.concat([overall, added])
    return {"utility": overall, "columns": columns, "pairs": pairs, "trained": trained}


def _check_target_names(columns, target, secrets):
    if isinstance(secrets, str):
        raise ValueError(f"secrets must be a sequence of columns; got {show(secrets)}.")
    for name, wanted in [("target", target), *(("secrets", secret) for secret in secrets or ())]:
        if wanted is not None and wanted not in columns:
            raise ValueError(
                f"{name}: {show(wanted)} is not a column of the tables; available columns: "
                f"{', '.join(map(repr, columns[:20]))}."
            )


def _check_target_column(tables, target):
    if target is None or "holdout" not in tables:
        return
    if tables["real"].shape[1] == 1:
        raise ValueError(f"target={target!r} must not be the only column.")
    for name, table in tables.items():
        if table[target].isna().all():
            raise ValueError(f"target={target!r} must have values in all tables; {name} has none.")


def _draw_seed(random_state):
    """Return the integer itself if one is given, so that a reported seed can be used again."""
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return int(random_state) if isinstance(random_state, Integral) else int(drawn)
