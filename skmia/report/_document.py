"""The documents of audits: as they are written, and checked when they are read."""

from collections import Counter, defaultdict
from dataclasses import asdict

import numpy as np
import pandas as pd

from .. import synthetic as tables
from .._core.escaping import to_plain, visible
from .._core.levels import CONCLUSIVE, as_plain_level, check_evidence
from .._core.numbers import refuse_first
from .._core.pvalues import is_significant
from ..disclosure import LOWER_ENDS
from ._beyond_shift import AucExcess
from ._checks_of_release import list_warnings
from ._evidence import (
    Grounds,
    choose_evidence,
    get_highest,
    is_stopped,
    measure_audit_level,
    why_unlisted,
)
from ._json_schema import (
    AUDIT,
    CONDITIONS,
    LISTED,
    RATE,
    REFERENCE,
    RELEASE,
    STORED,
    TABLE,
    check_fields,
    check_version,
    count,
    many,
    maybe,
)
from ._left_out import count_left_out
from ._measure import (
    COLUMNS,
    OK,
    OVERALL,
    compute_thin_curves,
    find_equal,
    get_overall,
    list_exposed,
    list_rows,
    rank_attacks,
)
from ._pool_size import list_wrong_growth
from ._screen import list_document_routes
from ._surrogate import why_no_reference
from ._verdict import (
    choose_file_evidence,
    keep_shared_checks,
    write_audit_verdict,
    write_file_verdict,
)
from .checks import CHECKS, find_outcome
from .checks._base import ALWAYS, CHANCE, read_checks
from .checks._record_rates import RecordRates

SCHEMA = "skmia.audit"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
# Documents of another version are refused (`check_document`).
SCHEMA_VERSION = 1

PERMUTATION_COLUMNS = ["attack", "scope", "group", "metric", "max_fpr"]
PERMUTATION_COLUMNS += ["pvalue", "pvalue_adjusted", "pvalue_below"]


def as_audit_document(report):
    names = ("created", "versions", "victim", "victim_name", "task", "data", "performance")
    rest = ("settings", "seeds", "seconds", "notes", "evidence", "verdict", "power", "growth")
    rest += ("disparity", "person_level", "reference")
    ranked = rank_attacks(report.scores, report.membership, report.judged)
    return to_plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(report, name) for name in names},
            "baseline": _as_limits(report.baseline),
            "difficulty": _as_limits(report.difficulty),
            "drift": report.drift and asdict(report.drift),
            "recommendation": report.recommendation and report.recommendation.to_dict(),
            "permutation": _describe_permutation(report.permutation),
            "checks": [_describe_check(check) for check in report.checks.values()],
            **{name: getattr(report, name) for name in rest},
            "results": _list_result_rows(report.results),
            "curves": report._curves["service"],
            "exposed": list_exposed(ranked, *_name_records(report), report.judged),
            "file": _document_file(report),
            "level": as_plain_level(report.service.level),
            "page_level": report.level.name,
        }
    )


def compute_document_curves(report):
    """Compute the curves of the service and of the file, which takes longest of a document."""
    level = report.settings["confidence_level"]
    ranked = rank_attacks(report.scores, report.membership, report.judged)
    of_file = {} if report.file is None else _name_file_scores(report.file)
    sides = report.membership, level, report.people
    return {
        "service": compute_thin_curves(ranked, *sides, report.judged),
        "file": compute_thin_curves(of_file, *sides),
    }


def _name_file_scores(file):
    return {} if file.scores is None else {file.grounds.asked[0]: file.scores}


def _document_file(report):
    """Return what the file reveals, or None if it was not attacked."""
    file = report.file
    if file is None:
        return None
    scores = _name_file_scores(file)
    return {
        **file.facts,
        "notes": file.notes,
        "evidence": file.evidence,
        "verdict": file.verdict,
        "level": as_plain_level(file.level),
        "permutation": _describe_permutation(file.permutation),
        "results": _list_result_rows(file.results),
        "curves": report._curves["file"],
        "exposed": list_exposed(scores, *_name_records(report)),
    }


def _name_records(report):
    return report.membership, report.record_ids, report.positions


def _list_result_rows(frame):
    return list_rows(frame[list(COLUMNS)])


def _describe_permutation(result):
    """Return the test of permuted membership, or None if it failed."""
    if result is None:
        return None
    counts = {name: getattr(result, name) for name in ("n_permutations", "n_units", "n_mixed")}
    return counts | {"numbers": list_rows(result.frame[PERMUTATION_COLUMNS])}


def _describe_check(check):
    """Return a check, with its finding if that is a word or an interval.

    Others have their own field.
    """
    plain = str | AucExcess | RecordRates
    finding = check.finding if isinstance(check.finding, plain) else None
    return {"name": check.name, "status": check.status, "text": check.text, "finding": finding}


def _as_limits(interval):
    return None if interval is None else dict(zip(("auc", "low", "high"), interval))


def _list_wrong_rows(name, wrong):
    """Yield a sentence on the first row for which each of some words holds."""
    for what, rows in wrong.items():
        if rows.any():
            yield f"{name}[{int(rows.argmax())}] {what}"


def list_wrong_people(document):
    """Yield what contradicts itself in the numbers of people, if there are any."""
    found = document["person_level"]
    if found is None:
        return
    n_people = found["n_members"] + found["n_nonmembers"] + found["n_mixed"]
    given = [found[name] is not None for name in ("auc", "low", "high", "pvalue")]
    wrong = {
        "more people than there are records": n_people > document["data"]["n_records"],
        "some but not all of auc, low, high and pvalue": any(given) != all(given),
        "exposed people without an AUC": bool(found["exposed"]) and not any(given),
        "more exposed people than members": len(found["exposed"]) > found["n_members"],
        "more non-members above a person than there are": any(
            row["n_above"] > found["n_nonmembers"] for row in found["exposed"]
        ),
    }
    if all(given):
        wrong["a lower limit above the upper one"] = found["low"] > found["high"]
    yield from (what for what, holds in wrong.items() if holds)


def _list_wrong_recommendation(document):
    """Yield what of a recommendation its own numbers, or the verdict, contradict."""
    found = document["recommendation"]
    if found is None:
        return
    tried = [limit for condition in found["tried"] for limit in condition["limits"]]
    for limit in [*found["limits"], *found["under_conditions"], *tried]:
        interval, end = limit["interval"], 1 if limit["name"] in LOWER_ENDS else 2
        if limit["status"] == "pass" and (interval is None or interval[end] > limit["limit"]):
            yield f"{limit['name']} does not pass its limit"
    if found["result"] not in (RELEASE, CONDITIONS):
        return
    ways = [document, document["file"]] if found["release"] == "file" else [document]
    if any(way is None or way["evidence"] not in CONCLUSIVE for way in ways):
        yield "the audit is inconclusive, so nothing can be said"
    if found["result"] == RELEASE:
        numbers = {limit["status"] for limit in found["limits"]}
        blocks = {check["status"] for check in found["checks"] if check["level"] == "block"}
        if not numbers <= {"pass", "not judged"} or "pass" not in numbers or blocks - {"pass"}:
            yield "not all limits and checks pass"
    yield from _list_wrong_requirements(document, found)
    if "reference" in document:  # of a model
        given = read_checks(document["checks"]), document["reference"], found["provenance"]
        if list_warnings(*given):
            yield "a check warns that low numbers say nothing"


def _list_wrong_requirements(document, found):
    """Yield what the policy asks for and a release lacks, and models that were not compared."""
    helping = next((one for one in found["tried"] if one["helps"]), None)
    is_other_way = helping is not None and helping["release"] != found["release"]
    for one in found["requirements"]:
        if one["name"] == STORED and is_other_way and found["result"] == CONDITIONS:
            continue
        if not one["is_met"]:
            yield f"a release needs {one['name']}, which it lacks"
        checks = read_checks(document["checks"])
        if one["name"] == REFERENCE:
            given = document["reference"], checks, True, found["provenance"]
            if why_no_reference(*given) is not None:
                yield "reference contradicts reference models"
        if one["name"] == LISTED and why_unlisted(checks, found["provenance"]) is not None:
            yield "checks contradict all training rows"


_KEY = ["attack", "scope", "group", "metric", "max_fpr"]


def check_document(document):
    """Check a document from an untrusted source, and derive its verdict again."""
    check_version(document, SCHEMA_VERSION)
    check_fields(document, AUDIT)
    grounds = read_grounds(document)
    refuse_first(_list_contradictions(document, grounds))
    evidence = choose_evidence(grounds)
    check_evidence(document, evidence)
    file = None if document["file"] is None else _check_file(document, grounds)
    refuse_first(_list_wrong_recommendation(document), "recommendation: ")
    level = as_plain_level(measure_audit_level(grounds, evidence))
    derived = {"verdict": write_audit_verdict(grounds, evidence), "level": level, "file": file}
    highest = get_highest(list_document_routes(document | derived)).level
    return document | derived | {"page_level": highest.name}


def _list_contradictions(document, grounds):
    """Yield where the numbers of an audit are incomplete, or contradict each other."""
    yield from _list_wrong_results(document, grounds.results)
    yield from _list_wrong_names(document, grounds)
    yield from _list_wrong_permutation(grounds)
    yield from _list_wrong_curves(document)
    yield from list_wrong_growth(document)
    yield from (f"person_level has {what}" for what in list_wrong_people(document))


def _check_file(document, grounds):
    """Check the part on the file, and derive its verdict again."""
    file = document["file"]
    whole = document | {name: file[name] for name in ("results", "permutation", "curves")}
    asked = sorted({row["attack"] for row in file["results"]})
    own = read_grounds(whole)._replace(checks=keep_shared_checks(grounds.checks), asked=asked)
    refuse_first(_list_wrong_file(document, whole, own))
    evidence = choose_file_evidence(own, file)
    if evidence != file["evidence"]:
        raise ValueError(f"file.evidence is {file['evidence']!r}, but its numbers say {evidence!r}")
    level = as_plain_level(measure_audit_level(own, evidence))
    return file | {"verdict": write_file_verdict(own, file), "level": level}


def _list_wrong_file(document, whole, own):
    """Yield what contradicts itself on the file, such as unread numbers without an obstacle."""
    file = document["file"]
    if file["n_records"] != document["data"]["n_records"]:
        yield "file.n_records is not data.n_records"
    if (file["reason"] is None) != bool(file["results"] and file["permutation"]):
        yield "file must have results, or a reason why it has none"
    if file["reason"] is None:
        yield from _list_wrong_results(whole, own.results)
        yield from _list_wrong_permutation(own)
        yield from _list_wrong_curves(whole)
    n_given = file["n_records"] + count_left_out(document["data"])
    if any(row["position"] >= n_given for row in file["exposed"]):
        yield "file.exposed has a position beyond all records"
    if file["obstacle"] is None:
        if any(one["part"] is None for one in file["ledger"]):
            yield "file.obstacle is null, but file.ledger has numbers that no part reads"
        if not file["ledger"] or file["expected_auc"] is None:
            yield "file.obstacle is null, but file.expected_auc or file.ledger is missing"


def read_grounds(document):
    permutation = document["permutation"] or {"numbers": [], "n_permutations": 0}
    settings = document["settings"]
    return Grounds(
        _read_frame(document["results"], list(COLUMNS), COLUMNS[4:11]),
        _read_frame(permutation["numbers"], PERMUTATION_COLUMNS, PERMUTATION_COLUMNS[4:]),
        permutation["n_permutations"],
        read_checks(document["checks"]),
        settings["confidence_level"],
        list(settings["attacks"]),
    )


def _read_frame(rows, columns, numbers):
    # Texts stay objects: to compare a few of them as columns of Arrow takes several times as long.
    dtypes = {name: float if name in numbers else object for name in columns}
    values = {name: [row.get(name, np.nan) for row in rows] for name in columns}
    return pd.DataFrame({name: pd.Series(values[name], dtype=dtypes[name]) for name in columns})


def _list_wrong_results(document, frame):
    """Yield where results are incomplete, there twice or contradict the counts of the data."""
    data = document["data"]
    if frame.empty != is_stopped(read_checks(document["checks"])):
        yield "results must have numbers unless the model does not know the table, and only then"
    if data["n_members"] + data["n_nonmembers"] != data["n_records"]:
        yield "data.n_members and data.n_nonmembers do not add up to data.n_records"
    columns = {name: frame[name].to_numpy() for name in COLUMNS}
    max_fpr, estimate, low, high, fpr = (columns[name] for name in COLUMNS[4:9])
    is_there, is_rate = columns["status"] == OK, columns["metric"] == "tpr"
    is_chosen, keys = columns["told"] == True, _list_document_keys(frame)  # noqa: E712
    chosen = Counter(key[1:] for key, is_it in zip(keys, is_chosen) if is_it)
    is_alone = np.array([chosen[key[1:]] < 2 for key in keys], dtype=bool)
    wrong = {
        "has another status than its estimate": is_there == np.isnan(estimate),
        "has limits without an estimate": ~is_there & ~(np.isnan(low) & np.isnan(high)),
        "has a lower limit above its upper one": low > high,
        "must have max_fpr if it is a TPR, and only then": is_rate == np.isnan(max_fpr),
        "must have fpr if it is a TPR, and only then": (is_rate & is_there) == np.isnan(fpr),
        "is below 0 and not an advantage": (estimate < 0) & (columns["metric"] != "advantage"),
        "is there twice": _find_repeated(keys),
        "is told beside another one, or without an estimate": is_chosen & ~(is_alone & is_there),
        "has more records than there are": (columns["n_members"] > data["n_members"])
        | (columns["n_nonmembers"] > data["n_nonmembers"]),
    }
    yield from _list_wrong_rows("results", wrong)
    rates = [("auc", -1), ("advantage", -1)]
    rates = {*rates, *(("tpr", rate) for rate in document["settings"]["fprs"])}
    parts = defaultdict(set)
    for *names, metric, rate in keys:
        parts[tuple(names)].add((metric, rate))
    for names in sorted(parts):
        if parts[names] != rates:
            yield f"results has other numbers of {visible(', '.join(names))} than settings.fprs"


def _find_repeated(keys):
    """Return which of some keys were there before."""
    first = {}
    repeated = [first.setdefault(key, place) < place for place, key in enumerate(keys)]
    return np.array(repeated, dtype=bool)


def _list_wrong_permutation(grounds):
    null = grounds.null
    tested, known = _list_document_keys(null), set(_list_document_keys(grounds.results))
    has_below = ~np.isnan(null["pvalue_below"].to_numpy())
    wrong = {
        "is about a number not in results": np.array([row not in known for row in tested], bool),
        "must have pvalue_below only for an AUC": find_equal(null, metric="auc") != has_below,
    }
    yield from _list_wrong_rows("permutation.numbers", wrong)
    if find_outcome(grounds.checks, CHANCE).is_error and null.empty:
        return
    needed = _list_document_keys(get_overall(grounds.results, "auc"))
    if not set(needed) <= set(tested) or _find_repeated(tested).any():
        yield "permutation.numbers must have each AUC over all records once"


def _list_document_keys(frame):
    return list(zip(*(frame[name].fillna(-1).tolist() for name in _KEY)))


def _list_always():
    """Return the checks that each document has, beside those of some kinds of data."""
    return [check.name for check in CHECKS if check.presence == ALWAYS]


def _list_wrong_names(document, grounds):
    """Yield which check is not there, and which named attack or record does not exist."""
    missing = [name for name in _list_always() if name not in grounds.checks]
    if missing or len(grounds.checks) != len(document["checks"]):
        yield f"checks lacks {', '.join(missing) or 'nothing, but has one twice'}"
    frame = grounds.results
    ran = set(frame["attack"].to_numpy()[find_equal(frame, metric="auc", scope=OVERALL)])
    named = {"results": set(frame["attack"])}
    named["curves"] = {curve["attack"] for curve in document["curves"]}
    named["exposed"] = {row["attack"] for row in document["exposed"]}
    for name in ("power", "disparity", "person_level"):
        named[name] = set() if document[name] is None else {document[name]["attack"]}
    for name, attacks in named.items():
        if not attacks <= ran & set(grounds.asked):
            yield f"{name} names an attack that settings or results lack"
    n_given = document["data"]["n_records"] + count_left_out(document["data"])
    for row in document["exposed"]:
        if row["position"] >= n_given:
            yield f"exposed has the position {row['position']}, beyond all records"


def _list_wrong_curves(document):
    if len({curve["attack"] for curve in document["curves"]}) < len(document["curves"]):
        yield "curves must have each attack once"
    for place, curve in enumerate(document["curves"]):
        lengths = {len(curve[name]) for name in ("fpr", "tpr", "low", "high")}
        if len(lengths) > 1 or curve["fpr"] != sorted(curve["fpr"]) or not curve["fpr"][-1]:
            yield f"curves[{place}] must have as many rates of each kind, in order"
    numbers = [] if document["power"] is None else document["power"]["numbers"]
    sizes = [row["n_shadows"] for row in numbers]
    if sizes != sorted(set(sizes)):
        yield "power.numbers must be in the order of n_shadows"


def check_table_document(document):
    """Check a document from an untrusted source, and derive its verdict again."""
    check_version(document, tables.SCHEMA_VERSION)
    check_fields(document, TABLE)
    refuse_first(_list_wrong_limits(document))
    grounds = _read_table_grounds(document)
    if document["reversed"] != tables.list_table_reversals(grounds.results):
        raise ValueError("reversed does not follow from results")
    evidence = tables.choose_table_evidence(grounds)
    check_evidence(document, evidence)
    refuse_first(_list_wrong_recommendation(document), "recommendation: ")
    level = as_plain_level(tables.measure_table_level(grounds, evidence), ("excess",))
    return document | {"verdict": tables.write_table_verdict(grounds, evidence), "level": level}


def _read_table_grounds(document):
    level = document["settings"]["confidence_level"]
    shift = {check["name"]: check for check in document["checks"]}.get("one population", {})
    if "interval" not in shift:
        raise ValueError("checks lacks one population, or its interval")
    maybe(many(RATE, 3, 3))(shift["interval"], "checks.interval")
    count()(document["data"].get("n_holdout", 0), "data.n_holdout")
    n_rows = tables.count_units(document["data"])
    return tables.TableGrounds(
        _read_results(document, level, tables.has_numbers(n_rows)),
        n_rows,
        level,
        _read_smallest_share(document),
        shift["text"] if shift["status"] == "warning" else None,
        document.get("unchanged"),
    )


def _read_results(document, level, has_holdout):
    frame = pd.DataFrame(document["results"]).set_index("name") if document["results"] else None
    if (frame is not None) != has_holdout or (document["copies"] is not None) != has_holdout:
        raise ValueError("results and copies must be there with a holdout, and only then")
    if frame is None:
        return pd.DataFrame({"leak": np.zeros(0, dtype=bool)})
    if frame.index.has_duplicates:
        raise ValueError("results must have each number once")
    frame = frame.astype(dict.fromkeys(frame.columns.drop("leak"), float))
    if not np.allclose(frame["pvalue_holm"], tables.correct(frame.index, frame["pvalue"])):
        raise ValueError("pvalue_holm of results does not follow from pvalue")
    if (frame["leak"] != is_significant(frame["pvalue_holm"], 1 - level)).any():
        raise ValueError("leak of results does not follow from pvalue_holm")
    return frame


def _list_wrong_limits(document):
    """Yield limits that do not hold their estimate, and more copies than rows."""
    counts = document.get("unchanged")
    if counts is not None:
        pairs = [("alone", "train"), ("train", "n_train"), ("test", "n_test")]
        if any((counts[part] is None) != (counts[whole] is None) for part, whole in pairs) or any(
            counts[part] > counts[whole] for part, whole in pairs if counts[part] is not None
        ):
            yield "unchanged has more copies than rows"
    for part in ("results", "utility", "columns", "pairs"):
        for place, row in enumerate(document[part]):
            limits = [row[name] for name in ("low", "estimate", "high") if row[name] is not None]
            if limits != sorted(limits):
                yield f"{part}[{place}] has an estimate outside of its limits"


def _read_smallest_share(document):
    if document["copies"] is None:
        return np.inf
    shares = {row["name"]: row["smallest_share_corrected"] for row in document["copies"]}
    if tables.FIRST not in shares:
        raise ValueError(f"copies lacks {tables.FIRST}")
    share = shares[tables.FIRST]
    return np.inf if share is None else share
