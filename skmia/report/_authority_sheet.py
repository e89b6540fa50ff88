"""A sheet of evidence for whoever assesses whether a model is anonymous, of two pages.

Its questions are those of Opinion 28/2024 of the European Data Protection Board: the attacks that
paragraph 55 lists, whether the likelihood is insignificant for each person (43), who can reach the
model (46), and which threats were assumed (58). For a synthetic table those of Opinion 05/2014 of
its predecessor are added: singling out, linkability and inference.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scipy.stats import hypergeom

from .. import disclosure
from .._core.decisions import EVIDENCE_FIELDS
from .._core.levels import CONCLUSIVE, LEAK
from .._core.numbers import show
from .._core.pages import render_page
from .._core.pvalues import is_significant
from .._core.saving import write_text
from .._core.text import inflect_word
from .._core.types import PathLike
from ..disclosure import check_provenance, name_subject, write_day
from ..synthetic import TableReport, as_table_document, read_units
from ._document import as_audit_document, check_document, check_table_document
from ._measure import OVERALL
from ._report import AuditReport
from ._surrogate import FEWEST_MODELS, LEAST_SHARE
from .checks import PeopleCheck, find_outcome
from .checks._base import UNLISTED, read_checks

MEASURED, NOT_TESTED, NOT_APPLICABLE, UNKNOWN = (
    "measured",
    "not tested",
    "does not apply",
    "cannot be said",
)

SIGNERS = ("Who ran the tests", "Controller", "Data protection officer")


class EvidenceLine(NamedTuple):
    """One attack on one thing that others can reach."""

    attack: str
    reference: str  # paragraphs
    way: str
    status: str
    ran: str  # what ran, or why nothing did
    spoke: str  # whether it could have found something
    overall: str  # upper ends of all records
    exposed: str  # the group and the record that are worst
    is_leak: bool = False  # whether leakage was found

    @property
    def told(self):
        """The status in words that say what was found."""
        if self.status == MEASURED:
            return "Leakage found" if self.is_leak else "No leakage found"
        return self.status.capitalize()


def write_authority_sheet(
    results: Sequence[AuditReport | TableReport | Mapping[str, Any]],
    path: PathLike,
    *,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a sheet of evidence for an assessment of anonymity, from one or several audits.

    Each attack that Opinion 28/2024 of the European Data Protection Board names has a line for each
    way to reach the model or the table: what ran, whether it was able to find something, the upper
    end of the interval of all records, of the worst group and the most exposed record, or why it
    was not tested. The sheet says nowhere that a model is anonymous: that is for people to decide.

    Parameters
    ----------
    results : sequence of AuditReport, TableReport or dict
        Audits of one model, of tables that were generated from the same records, or both; a dict is
        the content of their ``audit.json`` or ``table.json``.
    path : str or path-like
        File of the page.
    provenance : mapping of str to str, default=None
        What fills in the lines of the sheet: ``"purpose"``, ``"personal data"``, ``"preparation"``,
        ``"training"``, ``"outputs"``, ``"means"`` and ``"later tests"``. Others, such as hashes,
        are at its end.

    Raises
    ------
    ValueError
        If there is no result, or one is damaged or given twice.
    OSError
        If the file cannot be written.

    See Also
    --------
    recommend_release : Compares the numbers of an audit with limits.

    References
    ----------
    European Data Protection Board (2024). Opinion 28/2024 on certain data protection aspects
    related to the processing of personal data in the context of AI models.

    Article 29 Data Protection Working Party (2014). Opinion 05/2014 on anonymisation techniques.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import write_authority_sheet
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> settings = {"attacks": {"loss": ThresholdAttack()}, "file": False}
    >>> report = audit(tree, records, membership, random_state=0, **settings)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "evidence.html"
    ...     write_authority_sheet([report], path)
    ...     "Membership inference" in path.read_text(encoding="utf-8")
    True
    """
    write_text(render_authority_sheet(results, provenance), path)


def render_authority_sheet(results, provenance=None):
    """Return the sheet as HTML."""
    content = describe_authority_sheet(results, provenance)
    place, style = disclosure.__name__, "sheet.css"  # shared with the decision sheet
    return render_page("authority_sheet.html.j2", place, own_style=style, sheet=content)


def describe_authority_sheet(results, provenance=None):
    """Return what the sheet shows, as plain values."""
    if isinstance(results, AuditReport | TableReport | Mapping):
        results = [results]
    documents = [_as_document(one) for one in results]
    if not documents:
        raise ValueError("results must hold an audit or more; got none.")
    for place, document in enumerate(documents):
        if document in documents[:place]:
            raise ValueError(
                f"results must be different audits; number {place + 1} is the same as number "
                f"{documents.index(document) + 1}."
            )
    given = dict(check_provenance(provenance))
    audited = list(zip(documents, _name_apart(documents), strict=True))
    lines = [
        line._replace(way=f"{line.way} ({name})" if name else line.way)
        for document, name in audited
        for line in list_evidence(document)
    ]
    return {
        "subject": ", ".join(dict.fromkeys(_name_document(one) for one in documents)),
        "day": write_day(max(one["created"] for one in documents)),
        "lines": lines,
        "counts": _count_statuses(lines),
        "level": _tell_levels(documents),
        "attackers": _list_all_attackers(audited),
        "samples": [
            f"{name}: {_describe_sample(one)}" if name else _describe_sample(one)
            for one, name in audited
        ],
        "fields": [
            (name, label, reference, given.get(name, ""))
            for name, (label, reference) in EVIDENCE_FIELDS.items()
        ],
        "signers": SIGNERS,
        "origins": [_describe_origin(one) for one in documents],
        "others": [
            (name, text) for name, text in given.items() if name not in EVIDENCE_FIELDS and text
        ],
    }


def _name_apart(documents):
    """Return the name of each audit where two are of one kind, else no text."""
    names, schemas = (
        [_name_document(one) for one in documents],
        [one["schema"] for one in documents],
    )
    if len(set(names)) < len(names):
        names = [f"audit {place}" for place in range(1, len(names) + 1)]
    return [
        name if schemas.count(schema) > 1 else ""
        for name, schema in zip(names, schemas, strict=True)
    ]


def _list_all_attackers(audited):
    """Return who attacks, once for each way in which all audits have the same attacker."""
    told = [(*one, name) for document, name in audited for one in _list_attackers(document)]
    texts = {way: {text for own, text, _ in told if own == way} for way, _, _ in told}
    named = ((f"{way} ({name})" if len(texts[way]) > 1 else way, *one) for way, *one, name in told)
    return list(dict.fromkeys(named))


def _tell_levels(documents):
    """Return the confidence levels of the intervals."""
    levels = [f"{100 * one['settings']['confidence_level']:g}%" for one in documents]
    if len(set(levels)) == 1:
        return f"{levels[0]} intervals"
    told = zip(levels, map(_name_document, documents), strict=True)
    return f"intervals ({', '.join(f'{level} for {name}' for level, name in told)})"


def _as_document(result):
    if isinstance(result, AuditReport):
        return as_audit_document(result)
    if isinstance(result, TableReport):
        return as_table_document(result)
    if not isinstance(result, Mapping) or "schema" not in result:
        raise TypeError(
            "results must be reports of audits, or the content of audit.json or table.json; got "
            f"{show(result)}."
        )
    check = {"skmia.audit": check_document, "skmia.table": check_table_document}
    if result["schema"] not in check:
        raise ValueError(f"results must be audits; got the schema {show(result['schema'])}.")
    return check[result["schema"]](result)


def list_evidence(document):
    """Return the lines of an audit, one for each attack and way."""
    if document["schema"] == "skmia.table":
        return _list_table_evidence(document)
    has_file = document["file"] is not None
    return [
        _tell_membership(document, "service"),
        _tell_membership(document, "file")
        if has_file
        else _leave_out("Membership inference", "55 (i)", "file", "The file was not attacked."),
        _tell_attributes(document),
        _leave_out("Exfiltration", "55 (ii)", "service, file", _KEPT),
        EvidenceLine(
            *("Regurgitation", "55 (iii)", "service", NOT_APPLICABLE),
            f"It answers with {_ANSWERS[document['task']]}, and never with text or rows.",
            *("", "", ""),
        ),
        _leave_out("Model inversion", "55 (iv)", "service, file", _INVERSION),
        _leave_out("Reconstruction", "55 (v)", "service", _REBUILT),
        _tell_stored_rows(document),
    ]


_ANSWERS = {"classification": "labels or probabilities", "regression": "numbers"}
_KEPT = (
    "Whether the model or its training data can be stolen from where they are stored is a question "
    "of security, which an audit of the model does not answer."
)
_INVERSION = (
    "No attack here looks for typical inputs of a class. It concerns models whose classes are "
    "people, such as the recognition of faces."
)
_REBUILT = (
    "No attack here rebuilds training rows from answers. An attacker who could do it would also "
    "know who the members are, so the line on membership inference bears on it."
)


def _leave_out(attack, reference, way, why):
    return EvidenceLine(attack, reference, way, NOT_TESTED, why, "", "", "")


def _tell_membership(document, way):
    """Return the line of the attacks on one way, by the attack with the highest upper ends."""
    part = document if way == "service" else document["file"]
    line = "Membership inference", "55 (i)", way
    attacks = list(dict.fromkeys(row["attack"] for row in part["results"]))
    ran = (
        f"{document['data']['n_members']:,} members and {document['data']['n_nonmembers']:,} others"
    )
    ran = f"{', '.join(attacks)}, on {ran}" if attacks else f"no attack, of {ran}"
    if part["evidence"] not in CONCLUSIVE:
        return EvidenceLine(*line, UNKNOWN, ran, _first_sentence(part["verdict"]), "", "")
    spoke = _tell_able(document, way)
    status = MEASURED if spoke.startswith("yes") else UNKNOWN
    overall = _tell_upper_ends(part["results"])
    is_leak = part["evidence"] == LEAK
    return EvidenceLine(*line, status, ran, spoke, overall, _tell_worst(part), is_leak)


def _tell_able(document, way):
    """Return whether the attacks on a way could have found something, as policies ask."""
    if way == "file":
        facts = document["file"]
        if facts["obstacle"] and facts["evidence"] == LEAK:
            return "yes: leakage was found"
        unread = facts["obstacle"]
        return f"no: {unread}" if unread else "yes: every number that it stores was read"
    reference = document["reference"]
    known = [] if reference is None else reference["attacks"]
    enough = [
        one
        for one in known
        if one["share"] >= LEAST_SHARE and (one["n_models"] or FEWEST_MODELS) >= FEWEST_MODELS
    ]
    if document["evidence"] == LEAK:
        return "yes: leakage was found"
    if not enough:
        return f"no: fewer than {FEWEST_MODELS} models that are known to be without the records"
    if reference["recipe"] != "own":
        return "in part: models of a stand-in; the kind of this model is not known"
    counts = [one["n_models"] for one in enough if one["n_models"]]
    return f"yes: compared with {max(counts)} models" if counts else "yes: in closed form"


def _tell_upper_ends(rows):
    """Return upper ends of the AUC and of the rate at the lowest false positive rate, of all."""
    rows = [row for row in rows if row["scope"] == OVERALL and row["high"] is not None]
    told = []
    rates = [row for row in rows if row["metric"] == "tpr"]
    if rates:
        least = min(row["max_fpr"] for row in rates)
        high = max(row["high"] for row in rates if row["max_fpr"] == least)
        told.append(
            f"at most {_percent(high)} recognized if at most {100 * least:g}% of the others are "
            "mistaken"
        )
    areas = [row["high"] for row in rows if row["metric"] == "auc"]
    if areas:
        told.append(f"AUC at most {max(areas):.3f}")
    return "; ".join(told)


def _tell_worst(part):
    """Return the group with the highest upper end, and the record that stands out most."""
    groups = [row for row in part["results"] if row["scope"] != OVERALL and row["metric"] == "auc"]
    told = [f"no group was {'large enough to be judged' if groups else 'asked for'}"]
    groups = [row for row in groups if row["high"] is not None]
    if groups:
        worst = max(groups, key=lambda row: row["high"])
        told = [f"{worst['scope']} {worst['group']}: AUC at most {worst['high']:.3f}"]
    if part["exposed"]:
        first = part["exposed"][0]
        n_above = f"{first['n_above']:,}" if first["n_above"] else "none"
        told.append(f"record {first['record']}: {n_above} of the others scored as high")
    return "; ".join(told)


def _tell_attributes(document):
    """Return the line of attribute inference, which an audit does not make by itself."""
    found = document["recommendation"] or {"limits": []}
    numbers = [
        row for row in found["limits"] if row["name"] == "attribute_gain" and row["interval"]
    ]
    line = "Attribute inference", "55 (i)", "service"
    if not numbers:
        return EvidenceLine(
            *line,
            NOT_TESTED,
            "This audit has no attack on attributes: see AttributeInferenceAttack, whose gain "
            "skmia.disclosure.recommend takes.",
            *("", "", ""),
        )
    worst = max(numbers, key=lambda row: row["interval"][2])
    overall = f"at most {_percent(worst['interval'][2])} more than by guessing"
    return EvidenceLine(*line, MEASURED, "gain over guessing", "as stated", overall, worst["group"])


def _tell_stored_rows(document):
    """Return the line of rows that a file holds as they are."""
    line = "Reconstruction", "55 (v)", "file"
    file = document["file"]
    if file is None:
        return _leave_out(*line, "The file was not attacked.")
    hits = next((source["hits"] for source in file["sources"] if source["hits"]), None)
    ran = "search for each record among the numbers that the file stores"
    if hits is None:
        return EvidenceLine(
            *line, NOT_TESTED, file["obstacle"] or "No number was read.", "", "", ""
        )
    share, others = hits["members"], hits["nonmembers"]
    some = "more than 99.9%" if 0.9995 <= share < 1 else _percent(share)
    overall = f"{some} of the training rows found in it" if share else "no row found"
    overall += f", and {_percent(others)} of the others" if share and others else ""
    spoke = "yes: of a row that is there"
    return EvidenceLine(*line, MEASURED, ran, spoke, overall, "", _are_stored(document, hits))


def _are_stored(document, hits):
    """Return whether more members than others are found, where others are found by chance.

    As rows of few values are. If the same rows were found with other members, so many of them would
    be members with a probability of at most 1 minus the level of the intervals.
    """
    sides = ("members", "nonmembers")
    sizes = [document["data"][f"n_{side}"] for side in sides]
    found = [round(hits[side] * size) for side, size in zip(sides, sizes, strict=True)]
    if not found[1]:
        return found[0] > 0
    pvalue = hypergeom.sf(found[0] - 1, sum(sizes), sizes[0], sum(found))
    return is_significant(float(pvalue), 1 - document["settings"]["confidence_level"])


COPIES = "rare copies"
# Questions about a table: how the names of their numbers begin, and what runs.
_OF_TABLES = (
    ("Membership inference", "55 (i)", ("membership", "privacy loss"), "distances and densities"),
    (
        "Attribute inference",
        "55 (i)",
        ("inference of",),
        "guesses from the nearest synthetic {one}",
    ),
    (
        "Regurgitation and reconstruction",
        "55 (iii), (v)",
        (COPIES, "copies but one cell", "near copies"),
        "search for training {many} and for {many} never seen",
    ),
    ("Singling out", "05/2014", ("singling out",), "predicates that hold for one synthetic {one}"),
    ("Linkability", "05/2014", ("linkability",), "linking two parts of a {one} by the table"),
)


def _list_table_evidence(document):
    lines, units = [], read_units(document["data"])
    for attack, reference, starts, words in _OF_TABLES:
        ran = words.format(**units._asdict())
        rows = [row for row in document["results"] if row["name"].startswith(starts)]
        known = [row for row in rows if row["high"] is not None]
        line = attack, reference, "synthetic table"
        if document["evidence"] not in CONCLUSIVE:
            why = _first_sentence(document["verdict"])
            lines.append(EvidenceLine(*line, UNKNOWN, ran, why, "", ""))
        elif not known:
            why = "The audit has no number of this kind: see its notes."
            lines.append(_leave_out(*line, why))
        else:
            worst = max(known, key=lambda row: row["high"])
            n_rows = (
                f"{worst['n_attacks']:,.0f} {units.many}, and {worst['n_controls']:,.0f} never seen"
            )
            overall = f"at most {_percent(worst['high'])} more than for {units.many} never seen"
            if COPIES in starts:
                overall += _tell_unchanged(document, units)
            told = worst["name"] if len(known) > 1 else "one number for all"
            spoke = f"yes: compared on {n_rows}"
            found = any(row["leak"] for row in rows)
            lines.append(EvidenceLine(*line, MEASURED, ran, spoke, overall, told, found))
    lines.append(_leave_out("Exfiltration", "55 (ii)", "synthetic table", _KEPT))
    why = "A table has no answers to queries."
    line = "Model inversion", "55 (iv)", "synthetic table"
    return [*lines, EvidenceLine(*line, NOT_APPLICABLE, why, "", "", "")]


def _tell_unchanged(document, units):
    """Return how many training rows the table holds as they are, as a clause."""
    found = document.get("unchanged")
    if not found or not found["train"]:
        return ""
    never = "" if found["test"] is None else f"; of {units.many} never seen, {found['test']:,}"
    return f"; {found['train']:,} of {found['n_train']:,} training {units.many} unchanged{never}"


def _count_statuses(lines):
    """Return how many lines have each status, in words."""
    n_leaks = sum(line.is_leak for line in lines)
    told = []
    for status in (MEASURED, UNKNOWN, NOT_TESTED, NOT_APPLICABLE):
        n = sum(line.status == status for line in lines)
        words = "do not apply" if status == NOT_APPLICABLE and n > 1 else status
        found = f", of which {n_leaks or 'none'} found leakage" if status == MEASURED else ""
        told += [f"{n} {words}{found}"] if n else []
    return told


def _list_attackers(document):
    """Return who attacks, with which means, for each way that was attacked."""
    if document["schema"] == "skmia.table":
        return [
            (
                "synthetic table",
                "Has the table and knows some columns of the people, or whole rows, and how such "
                "rows look in general. Knows neither the generator nor its settings.",
            )
        ]
    n_models = document["settings"]["n_shadows"]
    kind = "and its settings" if _has_own_recipe(document) else "only by its answers"
    has = (
        "Has the record whose membership is asked, with its label, and asks the model about it as "
        "often as it likes."
    )
    trains = (
        f"Knows the kind of the model {kind}, and trains {n_models} models on records from the "
        "same source."
    )
    told = [("service", f"{has} {trains if n_models else 'Trains no models.'}")]
    if document["file"] is not None:
        unlisted = find_outcome(read_checks(document["checks"]), UNLISTED)
        which = "not all" if unlisted is not None and unlisted.is_warning else "nearly all"
        told.append(
            (
                "file",
                "Has the file, and reads every number in it. Has candidate records, among which "
                f"{which} training rows are, and makes no query.",
            )
        )
    return told


def _has_own_recipe(document):
    return document["reference"] is not None and document["reference"]["recipe"] == "own"


def _describe_sample(document):
    data = document["data"]
    if document["schema"] == "skmia.table":
        many, n_held = read_units(data).many, data.get("n_holdout", 0)
        return (
            f"{data['n_synthetic']:,} synthetic {many} with {data['n_columns']} columns, compared "
            f"with {data['n_real']:,} training {many} and {n_held:,} {many} never seen."
        )
    return (
        f"{data['n_records']:,} records, {data['n_members']:,} of which were training rows. Of "
        f"people who are not among them, nothing was measured. {_tell_people(document)}"
    )


def _tell_people(document):
    found = document["person_level"]
    if found is None:
        if PeopleCheck.name not in read_checks(document["checks"]):
            return "Each record counted as one person."
        return "No attack was made on all records of a person together."
    told = f"{found['n_members'] + found['n_nonmembers']:,} people "
    told += "were attacked" if found["auc"] is not None else "are too few to be attacked"
    were = inflect_word(found["n_mixed"], "was", "were")
    mixed = f"; {found['n_mixed']:,} more with records on both sides {were} left out"
    return f"{told}, each with all of their records{mixed if found['n_mixed'] else ''}."


def _describe_origin(document):
    """Return subject, versions, seeds and hashes of an audit."""
    found = document["recommendation"]
    given = {} if found is None else found["provenance"]
    hashes = {name: text for name, text in given.items() if name.startswith("sha256 of ") and text}
    if found is not None and found["policy"]["sha256"]:
        hashes[f"sha256 of the policy {found['policy']['name']}"] = found["policy"]["sha256"]
    command = document["settings"].get("command")
    repeat = command.get("repeat", "") if isinstance(command, Mapping) else ""
    return {
        "subject": _name_document(document),
        "created": document["created"],
        "versions": ", ".join(f"{name} {text}" for name, text in document["versions"].items()),
        "seeds": ", ".join(f"{name} {seed}" for name, seed in document["seeds"].items()),
        "hashes": list(hashes.items()),
        "command": given.get("command") or str(repeat),  # also without a policy
        "decision": "" if found is None else _tell_decision(found),
    }


def _tell_decision(found):
    return f"By the policy {found['policy']['name']}, as a {found['release']}: {found['result']}."


def _name_document(document):
    return name_subject(document, "a synthetic table")


def _percent(share):
    return f"{100 * share:.3g}%"


def _first_sentence(text):
    first, _, _ = text.partition(". ")
    return f"{first.rstrip('.')}."
