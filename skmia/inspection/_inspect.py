"""Inspection of a fitted model as a file, and what page and text say of it."""

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import BaggingClassifier, BaggingRegressor

from .._core.budget import describe_lack, is_of_memory
from .._core.escaping import SummaryMixin, visible
from .._core.kinds import is_regressor
from .._core.levels import LEAK, Level, set_level
from .._core.pages import render_page
from .._core.query import unwrap
from .._core.records import Records
from .._core.screens import Headline, NextStep, Screen, write_headlines, write_steps
from .._core.text import count_nouns, count_of, inflect_word, tell_percent, wrap_short
from .._core.validation import check_records
from ..victims import SELECTS, get_access, is_sampler, judge_sampler, read_state
from ._families import (
    BY_KIND,
    LEVELS,
    NEEDED_KINDS,
    STRIPPED,
    check_fitted_model,
    generalize,
    get_family,
    get_strongest,
    has_learned,
    list_owned_arrays,
    make_frame,
    name_place,
)
from ._reconstruct import count_values, list_values, write_counts

_MOST_PLACES = 12
_NOBODY = "no attack of skmia"
_HITS = "About as many hits as expected by chance are not evidence, and a single hit is not proof."
# Standard deviations of a rare event beyond which hits are listed.
_FAR = 3

_HEADLINES = {
    "rows": "The file holds training rows.",
    "values": "The file holds values of training rows.",
    "per-record": "The file holds a number or label for each training row, in their order.",
    "counts": "The file holds counts or sums of the training rows in each node or group.",
    "summaries": "The file holds weights or moments over the training rows.",
    None: "No array that is known to come from training rows was found in the file.",
}
_SERVICE = (
    "skmia.defenses.strip_state drops what predictions do not use, which is hardly ever enough. "
    "Behind a service a model gives answers alone: skmia audit --model measures what they tell. "
    "What is not stored as an array, such as text or code, was not read."
)


def write_inspection_summary(inspection, verbose=False):
    """Return the text of a ModelInspection: the answer, what the file holds, and what to do."""
    screen = show_inspection(inspection.to_dict())
    lines = [*write_headlines(screen), "", *wrap_short(screen.plain), ""]
    lines += wrap_short(screen.subject)
    for title, name in _SECTIONS.items():
        lines += ["", f"  {title}", *_lay_out(getattr(screen, name))]
    lines += ["", *write_steps(screen)]
    if not verbose:
        lines += ["", "  All arrays and places: --verbose, or summary(verbose=True)."]
        return "\n".join(lines)
    lines += ["", *_write_stored(inspection.to_frame()), ""]
    for one in inspection.findings:
        number = f" ({one.n_estimators:,} of them)" if one.n_estimators > 1 else ""
        place = f"{visible(one.path)}: " if one.path else ""
        lines.append(f"{place}{visible(one.estimator)}{number}: {one.level}")
    lines += _write_rebuilt(inspection.rebuilt)
    lines += [] if inspection.candidates is None else _write_hits(inspection.candidates)
    return "\n".join(lines)


_SECTIONS = {
    "What the file holds": "parts",
    "Among the candidates": "candidates",
    "What would change it": "changes",
}
_LONGEST = 30  # name of a part in the text


def _lay_out(rows):
    """Return names and what is told of each, side by side.

    A name that is repeated stands there once.
    """
    width = min(_LONGEST, max((len(visible(name)) for name, _ in rows), default=0))
    lines, last = [], None
    for name, told in rows:
        shown = "" if name == last else visible(name)[:width]
        lines += wrap_short(told, f"    {shown:{width}s}  ", width + 6)
        last = name
    return lines


def _tell_counts(part):
    n, n_rows = part["n_equations"], part.get("n_rows")
    rows = "training rows" if n_rows is None else f"{n_rows:,.10g} training rows"
    return (
        f"The nodes hold {count_nouns(n, 'count')}. {inflect_word(n, 'It settles', 'They settle')} "
        f"{tell_percent(part['known'])} of the question which candidates are training rows: "
        f"expected AUC {part['expected_auc']:.3f} (0.5 is guessing), if all {rows} are among the "
        "candidates."
    )


def _tell_thresholds(part):
    n, share = part["n_thresholds"], tell_percent(part["explained"])
    return (
        f"{share[0].upper()}{share[1:]} of {count_nouns(n, 'threshold')} "
        f"{inflect_word(n, 'lies', 'lie')} where values of the candidates would put them: expected "
        f"AUC {part['expected_auc']:.3f} from them alone."
    )


def _tell_optimum(part):
    return (
        "The training ended at the weights that fit its rows best. This settles "
        f"{tell_percent(part['known'])} of the question which candidates are training rows: "
        f"expected AUC {part['expected_auc']:.3f}."
    )


# Attacks that say what they expect: their names, and what tells of each.
_STRENGTHS = {
    "equations": ("Counts in nodes", _tell_counts),
    "thresholds": ("Thresholds", _tell_thresholds),
    "optimum": ("Optimum", _tell_optimum),
}


# What is told of a level that is expected of a file, and of one that is likely.
_HARMS = {
    "severe": "Reveals its training rows",
    "clear": "Distinguishes training rows from others",
    "slight": "Reveals little about its training rows",
}
_LIKELY = {"severe": "Severe leakage is likely", "clear": "Clear leakage is likely"}
_LIKELY["slight"] = "Little leakage is likely"

# Of a file that does not state its rows, the few numbers say little of many of them alone.
_LIKELY_OF_MANY = "Little leakage is likely with more than {enough:,} rows"
_UNKNOWN, _WITHOUT_DATA = "Leakage unknown", " without data"

# Per training row: leaves of a single row, nodes, edges of bins, and numbers of files without
# trees, from which a level is likely. Of 41 further models on six other tables, 32 had the same
# level with candidates, 8 one beside it, and one is not judged; 11 of 13 severe ones were severe.
_STRUCTURE = {
    "n_alone": {"severe": 0.2, "clear": 0.02},
    "n_nodes": {"severe": 1.0, "clear": 0.1},
    "n_edges": {"severe": 0.8, "clear": 0.1},
    "n_numbers": {"clear": 0.1},
}
_GROUNDS = {
    "n_alone": "{n_alone} a single one of {n_rows}{if_none}.",
    "n_nodes": "Its trees have {n_nodes} for {n_rows}{if_none}.",
    "n_edges": "Its bins have {n_edges} at values of {n_rows}{if_none}.",
    "n_numbers": "It holds {n_numbers} of {n_rows}{if_none}.",
    "few": "It holds {n_numbers}, which {reveal} little about more than {enough:,} rows.",
    "unstated": "It does not state how many training rows there were.",
}
# Numbers of a file that does not state its rows, for which a table is taken to be large.
_FEW_NUMBERS = 100


class ExpectedLeakage(NamedTuple):
    """The leakage that is expected of a file that was not attacked."""

    level: Level
    heading: str  # harm first
    ground: str = ""  # a sentence, where the structure alone says so


def expect_leakage(document):
    """What a file is expected to tell, by what is stored, by candidates, or by its structure."""
    found = document["candidates"]
    if document["level"] == "rows" or (found is not None and found["n_rows"]):
        return _expect_measured({"rows": 1})
    parts = () if found is None else (found[name] for name in _STRENGTHS)
    aucs = [part["expected_auc"] for part in parts if part is not None]
    return _expect_measured({"auc": max(aucs)}) if aucs else _expect_by_structure(document)


def _expect_measured(numbers):
    numbers = {name: {"low": value, "estimate": value} for name, value in numbers.items()}
    level = set_level(LEAK, numbers)
    return ExpectedLeakage(level, f"{_HARMS[level.name]}, expected: {level.name}")


def _expect_by_structure(document):
    """Return the level that is likely by how many numbers of the training rows there are."""
    numbers, found = document["structure"] | {"n_rows": document["n_rows"]}, document["candidates"]
    numbers["if_none"] = _say_if_none_repeats(document)
    n_rows, n_numbers, has_trees = numbers["n_rows"], numbers["n_numbers"], numbers["n_nodes"] > 0
    numbers["enough"] = round(n_numbers / _STRUCTURE["n_numbers"]["clear"])
    if n_rows is None or not (has_trees or n_numbers):
        is_few = not has_trees and 0 < n_numbers <= _FEW_NUMBERS
        # So many candidates are likely to hold all rows, and with them how many there are at most.
        is_little = is_few and (found is None or found["n_candidates"] > numbers["enough"])
        word, ground = "slight" if is_little else "unknown", "few" if is_few else "unstated"
    elif not has_trees and n_numbers >= n_rows:  # they can hold all of the rows, or nothing
        word, ground = "unknown", "n_numbers"
    else:
        names = ("n_edges", "n_alone", "n_nodes") if has_trees else ("n_numbers",)
        # Documents of before have no edges.
        levels = {name: _grade_structure(name, numbers.get(name, 0) / n_rows) for name in names}
        word = max(levels.values()).name
        order = names[::-1] if word == "slight" else names
        ground = next(name for name in order if levels[name] == word)
    heading = _LIKELY_OF_MANY if word == "slight" and ground == "few" else _LIKELY.get(word)
    heading = heading or f"{_UNKNOWN}{_WITHOUT_DATA if found is None else ''}"
    words = _count_numbers_of_file(numbers)
    texts = (text.format(**numbers | words) for text in (heading, _GROUNDS[ground]))
    return ExpectedLeakage(Level(word), *texts)


def _count_numbers_of_file(numbers):
    """Return how many numbers of each kind a file holds, with what they are."""
    n_alone, n_numbers = numbers["n_alone"], numbers["n_numbers"]
    return {
        "n_alone": f"{n_alone:,} {inflect_word(n_alone, 'leaf holds', 'leaves hold')}",
        "n_nodes": count_nouns(numbers["n_nodes"], "node"),
        "n_edges": count_nouns(numbers.get("n_edges", 0), "edge"),
        "n_numbers": count_nouns(n_numbers, "number"),
        "n_rows": count_nouns(numbers["n_rows"] or 0, "training row"),
        "reveal": inflect_word(n_numbers, "reveals", "reveal"),
    }


def _say_if_none_repeats(document):
    """Return the condition under which a number of rows is one, where it is a sum."""
    # Documents of before say nothing of it.
    return ", if none was weighted or repeated" if document.get("n_rows_may_repeat") else ""


def _grade_structure(name, share):
    limits = _STRUCTURE[name].items()
    return Level(next((word for word, limit in limits if share >= limit), "slight"))


def render_inspection(document):
    screen = show_inspection(document)
    title = f"{screen.heading}: inspection of {visible(document['model'])[:60]}"
    return render_page(
        "page_inspect.html.j2", __package__, title=title, found=document, screen=screen
    )


@dataclass(frozen=True)
class InspectionScreen(Screen):
    """The first screen of an inspection."""

    subject: str
    parts: list  # names of parts, and what is told of each; so are the others
    candidates: list
    changes: list


def show_inspection(document):
    """Return the first screen of an inspection, as a document."""
    found, expected = document["candidates"], expect_leakage(document)
    is_stored = document["level"] == "rows" or (found is not None and found["n_rows"] > 0)
    stated = "the file does not state how many training rows"
    if document["n_rows"] is not None:
        rows = count_nouns(document["n_rows"], "training row")
        stated = f"at least {rows}, as the file states"
        stated += _say_if_none_repeats(document)
    parts = [
        (one["estimator"], f"{one['stores']} Read by {', '.join(one['attacks']) or _NOBODY}.")
        for one in document["findings"]
    ]
    changes = [(one["estimator"], text) for one in document["findings"] for text in one["changes"]]
    return InspectionScreen(
        level=expected.level,
        heading=expected.heading,
        headlines=(Headline(expected.heading, "only read", (expected.level,)),),
        sentence=_write_sentence(document, is_stored, expected.ground),
        steps=_advise(expected.level == "severe", found),
        subject=f"{visible(document['model'])} · {stated}",
        parts=parts or [("No part", "is known to store training data.")],
        candidates=_tell_candidates(found, document["unread"]),
        changes=[*dict.fromkeys(changes), ("All parts", _SERVICE)],
    )


def _write_sentence(document, is_stored, ground):
    """Return what the file holds, and how much it is expected to tell; nothing was attacked."""
    found = document["candidates"]
    told = _HEADLINES[document["level"]]
    if found is not None and found["n_rows"]:
        are = inflect_word(found["n_rows"], "is", "are")
        told += (
            f" **{found['n_rows']:,}** of {found['n_candidates']:,} candidates {are} stored in it."
        )
    parts = [] if found is None else [found[name] for name in _STRENGTHS if found[name]]
    aucs = [part["expected_auc"] for part in parts]
    if aucs and not is_stored:
        told += (
            " By the strongest part alone, an attacker with these candidates is expected to rank a "
            f"member above a non-member **{count_of(max(aucs), 100)}** of 100 times."
        )
    told += f" {ground}" if ground else ""
    return f"{told} This file was not attacked, only read."


def _advise(is_severe, found):
    steps = {
        NextStep(
            "Do not release the file.",
            "Offer its predictions as a service instead.",
            "#parts",
            "Parts",
        ): is_severe,
        NextStep("Look for candidates.", "`skmia inspect MODEL --data FILE`"): found is None,
        NextStep(
            "Store less.", "Each part says what would reduce the leakage.", "#changes", "Changes"
        ): True,
        NextStep("Then audit.", "`skmia audit` attacks the file and gives a level."): True,
    }
    return tuple(step for step, is_due in steps.items() if is_due)[:3]


def _tell_candidates(found, unread):
    """Return what was found of candidates, and what could not be read, each with its name."""
    told = [("Not given", "No candidate records were given, so none was looked for.")]
    if found is not None:
        stored = f"{found['n_rows']:,} of {found['n_candidates']:,} candidates"
        as_rows = inflect_word(
            found["n_rows"], "is stored as a whole row", "are stored as whole rows"
        )
        told = [("Whole rows", f"{stored} {as_rows}.")]
        strengths = [(*one, found[key]) for key, one in _STRENGTHS.items()]
        told += [(name, tell(part)) for name, tell, part in strengths if part is not None]
        have = inflect_word(found["n_values"], "has", "have")
        rare = (
            f"{found['n_values']:,} more {have} a stored value that is unlikely by chance. {_HITS}"
        )
        told += [("Rare values", rare), *(("Note", note) for note in found["notes"])]
    if unread:
        told.append(("Not read", f"{count_nouns(len(unread), 'object')}, such as {unread[0]}."))
    return told


def _write_stored(frame):
    if frame.empty:
        return []
    lines = [f"{'stored':12s}{'shape':>14s}{'arrays':>8s}{'bytes':>12s}  place"]
    for one in frame.iloc[:_MOST_PLACES].itertuples():
        shape = "various" if one.shape is None else " x ".join(map(str, one.shape)) or "1"
        lines.append(
            f"{one.kind:12s}{shape:>14s}{one.n_arrays:8,d}{one.bytes:12,d}  {visible(one.path)}"
        )
    more = frame.iloc[_MOST_PLACES:]
    if len(more):
        lines.append(
            f"{'more':12s}{'':>14s}{more.n_arrays.sum():8,d}{more.bytes.sum():12,d}  "
            f"{count_nouns(len(more), 'place')}"
        )
    return lines


def _write_rebuilt(frame):
    if frame.empty:
        return []
    lines = ["", "Values that can be rebuilt without candidates (reconstruct_values lists them)"]
    return lines + [f"  {line}" for line in write_counts(frame, _MOST_PLACES)]


def _write_hits(found):
    hits = _list_hits(found.places)
    lines = ["", "Places with more hits of candidates than chance explains"]
    if len(hits):
        lines.append(f"  {'rows':>8s}{'by chance':>11s}{'values':>9s}{'by chance':>11s}  place")
    for one in hits.iloc[:_MOST_PLACES].itertuples():
        lines.append(
            f"  {one.n_rows:8,d}{one.expected_rows:11,.1f}{one.n_values:9,d}"
            f"{one.expected_values:11,.1f}  {visible(one.place)} ({visible(one.view)})"
        )
    n_more = len(found.places) - len(hits.iloc[:_MOST_PLACES])
    if n_more:
        places = "one more place" if n_more == 1 else f"{n_more:,} more places"
        lines.append(f"  in {places}, about as many as expected by chance")
    return lines


def _list_hits(places):
    """Places with clearly more hits than chance would give, those with most of them first."""
    beyond = {}
    for name in ("rows", "values"):
        expected = places[f"expected_{name}"]
        beyond[name] = places[f"n_{name}"] - expected - _FAR * np.sqrt(expected)
    order = np.lexsort([-beyond["values"], -np.maximum(beyond["rows"], 0)])
    is_far = (beyond["rows"] > 0) | (beyond["values"] > 0)
    return places.iloc[order][is_far.to_numpy()[order]]


@dataclass(frozen=True)
class Finding:
    """What one kind of estimator in a model reveals.

    Attributes
    ----------
    path : str
        Where it stands, ``[*]`` for every number of a list; empty for the model itself.
    estimator : str
        Name of its class.
    n_estimators : int
        How many there are.
    level : {"rows", "values", "per-record", "counts", "summaries"}
        The most that it holds: training rows, values of training rows, a number for each of them,
        counts and sums of the rows of a node or group, or weights and moments over all rows.
    stores : str
        What it stores.
    attacks : tuple of str
        Attacks of :mod:`skmia.attacks` that read it.
    changes : tuple of str
        What would change it.
    """

    path: str
    estimator: str
    n_estimators: int
    level: str
    stores: str
    attacks: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CandidateSearch:
    """What the attacks on files find about candidate records.

    Attributes
    ----------
    n_candidates : int
        Number of records.
    n_rows : int
        Records whose whole row is stored.
    n_values : int
        Further records with a stored value that would be stored without the record with a
        probability of at most 1/2.
    places : DataFrame
        As ``places_`` of :class:`~skmia.attacks.StoredValuesAttack`: hits in each stored array,
        with the number that is expected by chance.
    equations : dict or None
        ``n_equations``, ``n_rows``, ``known``, ``expected_auc`` and ``misfit`` of a
        :class:`~skmia.attacks.NodeEquationsAttack`, or None if it does not read the model.
    thresholds : dict or None
        ``n_thresholds``, ``explained`` and ``expected_auc`` of a
        :class:`~skmia.attacks.SplitThresholdAttack`, or None if it does not read the model.
    optimum : dict or None
        ``n_equations``, ``known`` and ``expected_auc`` of a
        :class:`~skmia.attacks.StationarityAttack`, or None if it does not read the model.
    notes : tuple of str
        Warnings of the attacks, and why one was not run.
    """

    n_candidates: int
    n_rows: int
    n_values: int
    places: pd.DataFrame
    equations: dict | None = None
    thresholds: dict | None = None
    optimum: dict | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ModelInspection(SummaryMixin):
    """What a fitted model stores of its training rows, as returned by :func:`inspect_model`.

    Attributes
    ----------
    model : str
        Names of the classes of the model and of the steps of a Pipeline.
    n_rows : int or None
        Number of training rows that the model states, or None. Rows that were set apart, as for
        early stopping, can be missing in it.
    n_rows_may_repeat : bool
        Whether this number is a sum over weights or over calls of ``partial_fit``, as of naive
        Bayes and scalers. A row with a weight of 2 then counts as two, and so does one that was
        given twice.
    level : {"rows", "values", "per-record", "counts", "summaries"} or None
        The most that a part of the model holds, see :class:`Finding`.
    findings : tuple of Finding
        One for each kind of estimator that stores something, the most telling first.
    stored : DataFrame
        What ``to_frame`` returns.
    rebuilt : DataFrame
        How many values of each column :func:`reconstruct_values` can rebuild without candidates,
        with the columns ``exact``, ``derived`` and ``edge``.
    unread : tuple of str
        Paths of objects that could not be read, with their types.
    candidates : CandidateSearch or None
        What was found of candidate records, if there were any.
    structure : dict
        ``n_nodes`` of trees, ``n_alone`` leaves of a single training row, ``n_edges`` of bins, and
        ``n_numbers`` of all other parts: what is expected of the file follows from them if there
        are no candidates.
    """

    model: str
    n_rows: int | None
    level: str | None
    findings: tuple[Finding, ...]
    stored: pd.DataFrame = field(repr=False)
    rebuilt: pd.DataFrame = field(repr=False)
    unread: tuple[str, ...] = ()
    candidates: CandidateSearch | None = None
    structure: dict[str, int] = field(default_factory=dict)
    n_rows_may_repeat: bool = False

    def to_frame(self) -> pd.DataFrame:
        """Return the stored arrays that come from training rows.

        Returns
        -------
        frame : DataFrame
            One row for each place, the most telling kinds first: ``path``, with ``[*]`` for every
            number of a list; ``kind`` as in :class:`~skmia.victims.StoredArray`; ``n_arrays``;
            ``shape``, None if they differ; ``n_values``, ``bytes``.
        """
        return self.stored.copy()

    def to_dict(self) -> dict:
        """Return the inspection as plain numbers, texts and lists, as in JSON.

        Returns
        -------
        document : dict
        """
        found = self.candidates
        return {
            "model": self.model,
            "n_rows": self.n_rows,
            "n_rows_may_repeat": self.n_rows_may_repeat,
            "level": self.level,
            "structure": self.structure,
            "stored": _as_lists(self.stored),
            "findings": [
                vars(one) | {"attacks": list(one.attacks), "changes": list(one.changes)}
                for one in self.findings
            ],
            "rebuilt": _as_lists(self.rebuilt.reset_index()),
            "unread": list(self.unread),
            "candidates": None
            if found is None
            else vars(found) | {"places": _as_lists(found.places), "notes": list(found.notes)},
        }

    def summary(self, verbose: bool = False) -> str:
        """Return the inspection as text.

        Parameters
        ----------
        verbose : bool, default=False
            Whether to add all stored arrays and the places of what was found.

        Returns
        -------
        text : str
        """
        return write_inspection_summary(self, verbose)

    def to_html(self) -> str:
        """Return the inspection as a page, one HTML file without a script.

        Returns
        -------
        page : str
        """
        return render_inspection(self.to_dict())


def _as_lists(frame):
    rows = frame.astype(object).to_dict("records")
    return [
        {name: list(cell) if isinstance(cell, tuple) else cell for name, cell in row.items()}
        for row in rows
    ]


# Candidates up to which equations are also checked for contradictions, which takes a second.
_MOST_PROPAGATED = 1000


def search_candidates(model, records):
    """Return what the file attacks find of candidate records.

    Columns are ordered by their names, and others refused, by ``order_columns``. A ValueError of
    StoredValuesAttack is raised: the records do not fit the model then. What ends one of the other
    attacks (a ValueError, or a lack of memory) is a note, and so are warnings: an attack that would
    hold too much raises nothing, it reads fewer trees and warns of it (``_describe_rest`` of
    ``attacks/_file_attack.py``).

    Attacks are imported on use: they need all that attacks share, and most files are inspected
    alone.
    """
    from ..attacks import (
        NodeEquationsAttack,
        SplitThresholdAttack,
        StationarityAttack,
        StoredValuesAttack,
    )

    records = check_records(records, labels=False)
    if records.y is None and is_regressor(model):
        raise ValueError("A regressor stores targets, and the records have none: pass their y.")
    # Values of features are compared without labels.
    labeled = Records(records.X, np.zeros(len(records))) if records.y is None else records
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = StoredValuesAttack(model).fit(labeled)
        # The strength that is said beforehand comes from ridge regression, which takes seconds.
        solver = "auto" if len(records) <= _MOST_PROPAGATED else "ridge"
        settings = {"solver": solver, "random_state": 0}
        equations = NodeEquationsAttack(model, **settings)
        optimum = StationarityAttack(model, **settings)
        asked = (
            (equations, records, "n_equations n_rows known expected_auc misfit"),
            (SplitThresholdAttack(model), labeled, "n_thresholds explained expected_auc"),
            (optimum, records, "n_equations known expected_auc"),
        )
        strengths = [_read_strength(*one, notes) for one in asked]
    notes += dict.fromkeys(str(one.message) for one in caught)
    n_rows = int(stored.found_["whole_row"].sum())
    sizes = len(records), n_rows, len(stored.found_) - n_rows
    return CandidateSearch(*sizes, stored.places_, *strengths, notes=tuple(notes))


def _read_strength(attack, records, names, notes):
    """Return what an attack on a file says of its strength, or None."""
    own, name = attack.needs().access - {"file", "queries"}, type(attack).__name__
    if not own <= get_access(attack.victim)[0]:
        return None
    if records.y is None:
        notes.append(f"{name} was not run: it needs the labels of the candidates.")
        return None
    try:
        attack.fit(records)
    except ValueError as error:
        notes.append(f"{name} was not run: {error}")
        return None
    except Exception as error:
        if not is_of_memory(error):
            raise
        notes.append(f"{name} was not run: {describe_lack(error)}.")
        return None
    if attack.expected_auc_ is None:
        notes.append(f"{name}: how much it tells of these candidates is not known.")
        return None
    return {name: getattr(attack, f"{name}_") for name in names.split()}


# What estimators note in whole numbers of the rows of their last fit.
_NOTED = ("n_samples_fit_", "n_samples_", "_n_samples")
# What they add up over the calls of partial_fit, some of them for each column and by weights.
_ADDED = ("n_samples_seen_",)
# Arrays with one row, or one entry, for each training row.
_EACH = {
    "rows": {"_fit_X", "X_train_", "X_fit_", "X_", "_raw_data", "data"},
    "per-record": {"labels_"},
}
# Arrays of nodes whose first one is the root.
_ROOTS = {"['n_node_samples']", "['count']", "['internal_count']"}
# Kinds of arrays of trees.
_OF_TREES = ("leaf values", "thresholds", "covers", "counts", "edges")
# Numbers of rows in all leaves of a tree of CatBoost.
_LEAVES = "['leaf_weights']"


class StatedRows(NamedTuple):
    """How many training rows a model states; None if it states no number."""

    n_rows: int | None  # the largest number of all
    n_sure: int | None  # the largest one in which no row counts twice, by a weight or another call


def count_rows_of_model(owned, estimators):
    """Return the largest numbers of training rows that a part of a model states.

    Parts that were fitted on a share of the rows, such as models of a cross-validation or trees on
    samples, state a smaller one. It is None if a sampler of imbalanced-learn has repeated rows, or
    made new ones, because other parts count them.
    """
    samplers = (one.estimator for one in estimators if is_sampler(one.estimator))
    if any(has_learned(sampler) and judge_sampler(sampler) != SELECTS for sampler in samplers):
        return StatedRows(None, None)
    # Members of a bagging are trained on rows that were drawn, and some of them repeated.
    drawn = [f"{one.path}.estimators_" for one in estimators if _draws_rows(one.estimator)]
    drawn = tuple(path.removeprefix(".") for path in drawn)
    stored = [one for one in owned if not one.stored.path.startswith(drawn)]
    parts = [one.estimator for one in estimators if not one.path.startswith(drawn)]
    sure = [_read_array(one.stored, one.kind) for one in stored]
    sure += [_read_notes(one) for one in parts]
    added = [_read_sums(one.stored) for one in stored] + [_read_additions(one) for one in parts]
    n_sure = max((int(one) for one in sure if one), default=None)
    return StatedRows(max((int(one) for one in (*added, n_sure) if one), default=None), n_sure)


def _draws_rows(estimator):
    return isinstance(estimator, BaggingClassifier | BaggingRegressor)


# Arrays of trees with an entry for each node, and those of them that count rows.
_COUNTS = ("['n_node_samples']", "['count']", "['leaf_count']", _LEAVES)
_NODES = (*_COUNTS, "['internal_count']", "['sum_hessian']")


_BINS = "bin_thresholds"


def count_structure(owned):
    """How many nodes, edges and other numbers a file has, and how many leaves of a single row."""
    nodes = [one.stored.array for one in owned if one.stored.path.endswith(_NODES)]
    counts = [one.stored.array for one in owned if one.stored.path.endswith(_COUNTS)]
    others = [one.stored.array for one in owned if one.kind not in (*_OF_TREES, "seeds")]
    edges = [one.stored.array for one in owned if _BINS in one.stored.path]
    return {
        "n_nodes": sum(int(np.count_nonzero(array)) for array in nodes),
        "n_alone": sum(int(np.count_nonzero(array == 1)) for array in counts),
        "n_edges": sum(int(np.isfinite(array).sum()) for array in edges),
        "n_numbers": sum(int(np.prod(array.shape)) for array in others),
    }


def count_stated_rows(model):
    """Return the numbers of training rows that a fitted model states, as StatedRows."""
    state = read_state(unwrap(model))
    return count_rows_of_model(list_owned_arrays(state), state.estimators)


def _read_array(stored, kind):
    name = stored.path.rpartition(".")[2]
    if name in _EACH.get(kind, ()):
        return stored.array.shape[0]
    is_root = any(stored.path.endswith(one) for one in _ROOTS)
    return _as_count(stored.array.ravel()[0]) if is_root else 0


def _read_sums(stored):
    """Return a sum of the weights of all training rows, or 0."""
    is_sum = stored.path.rpartition(".")[2] == "class_count_" or stored.path.endswith(_LEAVES)
    return _as_count(stored.array.sum()) if is_sum else 0


def _read_notes(estimator):
    state = getattr(estimator, "__dict__", {})
    shape = state.get("shape_fit_")  # of a support vector machine
    noted = [*_list_noted(state, _NOTED), *(shape[:1] if isinstance(shape, tuple) else [])]
    n_steps, n_epochs = _count_steps(state)
    # A single epoch can be one of many calls.
    noted += [n_steps / n_epochs] if n_epochs > 1 or "loss_curve_" in state else []
    return max(map(_as_count, noted), default=0)


def _read_additions(estimator):
    """Return the number of rows of all calls of partial_fit, by their weights, or 0."""
    state = getattr(estimator, "__dict__", {})
    n_steps, n_epochs = _count_steps(state)
    return max(map(_as_count, [*_list_noted(state, _ADDED), n_steps / n_epochs]))


def _list_noted(state, names):
    return [np.max(np.asarray(state[one])) for one in names if _is_noted(state.get(one))]


def _count_steps(state):
    """Return the steps of stochastic gradients, one for each row in each epoch, and the epochs."""
    if not (_is_noted(state.get("t_")) and _is_noted(state.get("n_iter_")) and state["n_iter_"]):
        return 0, 1
    # Perceptrons go on to count, and have a loss of each epoch; others begin to count at 1.
    if "loss_curve_" in state:
        return np.max(state["t_"]), max(len(state["loss_curve_"]), 1)
    return np.max(state["t_"]) - 1, np.max(state["n_iter_"])


def _is_noted(value):
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number or (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size)


def _as_count(number):
    """Return a number as a count of rows, or 0 if it is none."""
    if not isinstance(number, Real) or not np.isfinite(number) or not 0 < number < 2**63:
        return 0
    return int(number) if number == int(number) else 0


# Attacks by what they need of a model file, in the terms of their needs.
_READERS = {
    "nodes": "NodeEquationsAttack",
    "thresholds": "SplitThresholdAttack",
    "optimum": "StationarityAttack",
    "sums": "MomentsAttack",
    "gradients": "WhiteBoxAttack",
}


def inspect_model(model: object, records: Records | None = None) -> ModelInspection:
    """List what a fitted model stores of its training rows, with advice.

    A model that is shared as a file reveals more than a model behind a service. The inspection
    reads the state that a file of the model would hold, says what each part of it reveals and
    what would change it, and searches candidate records in it if there are any. It makes no query
    for a prediction and trains nothing.

    Parameters
    ----------
    model : fitted estimator
        Classifier, regressor, transformer, Pipeline or other estimator.
    records : Records of n records, default=None
        Candidates that may have been training rows, with X as the model takes it. Columns of a
        table are taken by the names that the model was fitted with, in any order.
        :class:`~skmia.attacks.StoredValuesAttack` looks for their rows and values, and
        :class:`~skmia.attacks.NodeEquationsAttack`, :class:`~skmia.attacks.SplitThresholdAttack`
        and :class:`~skmia.attacks.StationarityAttack` are fitted on them if they read the model.

    Returns
    -------
    inspection : ModelInspection
        ``print(inspection)`` is a summary, ``inspection.to_frame()`` lists what is stored.

    Raises
    ------
    TypeError
        If the model is a function or service, whose file is not at hand.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the records cannot be searched in it, for example because they have another number of
        features than the model.

    See Also
    --------
    reconstruct_values : Rebuilds values of the training data, without candidates.
    skmia.victims.read_state : Lists all stored arrays, each on its own.
    skmia.attacks.StoredValuesAttack : Says of each record where it was found.
    skmia.attacks.ReleasedModelAttack : Scores each record by everything that the file offers.
    skmia.attacks.NodeEquationsAttack : Scores each record by what the nodes of trees count.

    Notes
    -----
    Stored data are recognized by the names of attributes and the kinds of estimators. An estimator
    of another package is described by the names of its attributes alone, and training data that it
    keeps under an unusual name are listed as ``"other"``; candidates are looked for there as well.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.inspection import inspect_model
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> inspection = inspect_model(KNeighborsClassifier().fit(X, X[:, 0] > 0))
    >>> inspection.level, inspection.n_rows
    ('rows', 50)
    >>> print(inspection)
      ▂▅█  REVEALS ITS TRAINING ROWS, EXPECTED: SEVERE   only read
    <BLANKLINE>
    The file holds training rows. This file was not attacked, only read.
    <BLANKLINE>
    KNeighborsClassifier · at least 50 training rows, as the file states
    ...
    >>> inspection.to_frame()[["path", "kind", "shape"]].head(1)
         path  kind    shape
    0  _fit_X  rows  (50, 3)
    """
    model = unwrap(model)
    check_fitted_model(model)
    state = read_state(model)
    owned = list_owned_arrays(state)
    findings = _list_findings(owned, state.estimators)
    stated = count_rows_of_model(owned, state.estimators)
    return ModelInspection(
        model=_describe_pipeline(model),
        n_rows=stated.n_rows,
        n_rows_may_repeat=stated.n_rows != stated.n_sure,
        level=get_strongest({one.level for one in findings}),
        findings=findings,
        stored=make_frame(owned),
        rebuilt=count_values(list_values(model, state)),
        unread=state.unread,
        candidates=None if records is None else search_candidates(model, records),
        structure=count_structure(owned),
    )


def _describe_pipeline(model):
    steps = getattr(model, "steps", None)
    name = type(model).__name__
    if not isinstance(steps, list):
        return name
    return f"{name}({', '.join(_describe_pipeline(step[1]) for step in steps)})"


def _list_findings(owned, estimators):
    """Return findings on the estimators that own arrays, alike ones together."""
    kinds = {}
    for one in owned:
        if one.owner is not None:
            kinds.setdefault(one.owner.path, set()).add(one.kind)
    groups = {}
    for one in estimators:
        tells = kinds.get(one.path, set()) & BY_KIND.keys()
        family = _choose_family(one.estimator, tells)
        if one.path in kinds and (family is not None or tells) and has_learned(one.estimator):
            key = generalize(one.path), type(one.estimator).__name__
            groups.setdefault(key, []).append((*one, tells))
    findings = []
    for (path, _), some in groups.items():
        paths, parts, tells = zip(*some, strict=True)
        findings.append(_make_finding(name_place(path, paths), parts, set().union(*tells)))
    return tuple(sorted(findings, key=lambda one: LEVELS.index(one.level)))


def _choose_family(estimator, kinds):
    """Return family of an estimator, unless nothing is stored of what the family is known for."""
    family = get_family(estimator)
    needed = None if family is None else NEEDED_KINDS.get(family.level)
    return family if needed is None or kinds & needed else None


def _make_finding(path, estimators, kinds):
    family, name = _choose_family(estimators[0], kinds), type(estimators[0]).__name__
    if family is None:
        levels, stores, changes = set(), "", ()
        told = [kind for kind in BY_KIND if kind in kinds]
    else:
        levels, changes = {family.level}, family.changes
        is_stripped = family.has_nodes and not kinds & {"counts", "covers"}
        stores = STRIPPED if is_stripped else family.stores
        # What depends on the fit, and is not in the sentence on the family.
        told = [kind for kind in ("targets", "per-record") if kind in kinds]
        told = [] if family.level == "rows" else told
    told = [BY_KIND[kind] for kind in told]
    stores = " ".join([stores, *(one.stores for one in told)]).strip()
    levels |= {one.level for one in told}
    changes = (*changes, *(change for one in told for change in one.changes))
    attacks = _list_file_attacks(estimators[0], kinds)
    return Finding(path, name, len(estimators), get_strongest(levels), stores, attacks, changes)


def _list_file_attacks(estimator, kinds):
    """Return attacks that read an estimator of these kinds of arrays, by what they need of it."""
    access, family = get_access(estimator)[0], get_family(estimator)
    access -= {"thresholds"} if family is not None and family.is_random else set()
    found = [name for word, name in _READERS.items() if word in access]
    stored = ["StoredValuesAttack"] if kinds & {"rows", "values", "targets", "edges"} else []
    return (*found, *stored)
