"""The schema of the document of an audit: its fields, their kinds and their ranges."""

import reprlib
from dataclasses import asdict

import pandas as pd

from .._core.pages import CONCLUSIVE, EVIDENCE, as_plain_level, check_evidence
from .._core.visible import as_plain, visible
from ..disclosure import DECISIONS, LOWER_ENDS
from ._evidence import Grounds, choose_evidence
from ._file_verdict import choose_file_evidence, keep_shared_checks, write_file_verdict
from ._level import measure_level
from ._measure import (
    COLUMNS,
    MOST_EXPOSED,
    MOST_POINTS,
    NOT_RESOLVABLE,
    OK,
    OVERALL,
    TOO_FEW,
    compute_curves,
    list_exposed,
    rank_attacks,
)
from ._person_level import MEAN, SUM
from ._pool_size import ENOUGH, MOST, SIZES, TIME, UNMEASURED, check_growth
from ._stand_in import CHOSEN, GIVEN, OWN, why_no_reference
from ._verdict import write_verdict
from .checks._base import ERROR, NOT_RUN, PASSED, STATED, WARNING, Check

# Each kind is a function of a value and its place. It raises a ValueError that names the field, the
# expected kind and the value that was found.


# Largest number in a document: audits do not produce larger ones, and floats overflow soon after.
_LARGEST = 1e300

# The size for six fields of a hundred groups each, or for a table of thousands of columns; the page
# of a larger document takes minutes.
_MOST_VALUES, _DEEPEST = 500_000, 20


def refuse(where, wanted, value):
    raise ValueError(f"{where or 'the document'} must be {wanted}; got {reprlib.repr(value)}")


def check_fields(document, kind):
    """Check size and kind of a document."""
    _check_size(document)
    kind(document, "")


def _check_size(document):
    """Refuse a document with too many values or with arrays nested too deep."""
    waiting, n_values = [(document, 1)] if isinstance(document, dict | list) else [], 0
    while waiting:
        value, depth = waiting.pop()
        n_values += len(value)
        if n_values > _MOST_VALUES:
            raise ValueError(f"it has more than {_MOST_VALUES:,} values")
        if depth > _DEEPEST:
            raise ValueError(f"its arrays and objects are nested more than {_DEEPEST} deep")
        inner = value.values() if isinstance(value, dict) else value
        waiting += [(item, depth + 1) for item in inner if isinstance(item, dict | list)]


def number(low=-_LARGEST, high=_LARGEST):
    def check(value, where):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            span = "" if high == _LARGEST else f" from {low:g} to {high:g}"
            refuse(where, f"a number{span}", value)

    return check


def count(low=0):
    def check(value, where):
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not low <= value <= _LARGEST:
            refuse(where, f"a whole number from {low} on", value)

    return check


def text(value, where):
    if not isinstance(value, str):
        refuse(where, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(where, "text that can be written", value)


def word(*words):
    def check(value, where):
        if not isinstance(value, str) or value not in words:
            refuse(where, f"one of {', '.join(words)}", value)

    return check


def maybe(check_it):
    def check(value, where):
        if value is not None:
            check_it(value, where)

    return check


def either(*checks):
    def check(value, where):
        for number, check_it in enumerate(checks):
            try:
                return check_it(value, where)
            except ValueError:
                if number == len(checks) - 1:
                    raise

    return check


def many(check_it, low=0, high=None):
    def check(value, where):
        if not isinstance(value, list):
            refuse(where, "an array", value)
        if len(value) < low or (high is not None and len(value) > high):
            wanted = f"at least {low}" if len(value) < low else f"at most {high}"
            raise ValueError(f"{where} must have {wanted} entries; got {len(value)}")
        for place, item in enumerate(value):
            check_it(item, f"{where}[{place}]")

    return check


def mapping(check_it, high=None):
    def check(value, where):
        if not isinstance(value, dict):
            refuse(where, "an object", value)
        if high is not None and len(value) > high:
            raise ValueError(f"{where} must have at most {high} fields; got {len(value)}")
        for key, item in value.items():
            text(key, f"a name in {where}")
            check_it(item, f"{where}.{visible(key)}")

    return check


def fields(**fields):
    """An object with at least these fields."""

    def check(value, where):
        if not isinstance(value, dict):
            refuse(where, "an object", value)
        missing = [name for name in fields if name not in value]
        if missing:
            raise ValueError(f"{where or 'the document'} lacks {', '.join(missing)}")
        for name, check_it in fields.items():
            check_it(value[name], f"{where}.{name}" if where else name)

    return check


def flag(value, where):
    if not isinstance(value, bool):
        refuse(where, "true or false", value)


SCHEMA = "skmia.audit"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
SCHEMA_VERSION = 1

PERMUTATION_COLUMNS = ["attack", "scope", "group", "metric", "max_fpr"]
PERMUTATION_COLUMNS += ["pvalue", "pvalue_adjusted", "pvalue_below"]


def as_document(report):
    """The document of an audit."""
    names = ("created", "versions", "victim", "victim_name", "task", "data", "performance")
    rest = ("settings", "seeds", "seconds", "notes", "evidence", "verdict", "power", "growth")
    rest += ("disparity", "person_level", "reference")
    ranked = rank_attacks(report.scores, report.membership, report.judged)
    level = report.settings["confidence_level"]
    return as_plain(
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
            "results": _list_rows(report.results),
            "curves": compute_curves(
                ranked, report.membership, level, report.people, report.judged
            ),
            "exposed": list_exposed(ranked, report.membership, report.record_ids, report.judged),
            "file": _describe_file(report),
            "level": as_plain_level(report.level),
        }
    )


def _describe_file(report):
    """What the file reveals, or None if it was not attacked."""
    file = report.file
    if file is None:
        return None
    scores = {} if file.scores is None else {file.grounds.asked[0]: file.scores}
    level = report.settings["confidence_level"]
    return {
        **file.facts,
        "notes": file.notes,
        "evidence": file.evidence,
        "verdict": file.verdict,
        "level": as_plain_level(file.level),
        "permutation": _describe_permutation(file.permutation),
        "results": _list_rows(file.results),
        "curves": compute_curves(scores, report.membership, level, report.people),
        "exposed": list_exposed(scores, report.membership, report.record_ids),
    }


def _list_rows(frame):
    return [dict(zip(COLUMNS, row)) for row in frame[list(COLUMNS)].to_numpy(object)]


def _describe_permutation(result):
    """The test of permuted membership, or None if it failed."""
    if result is None:
        return None
    counts = {name: getattr(result, name) for name in ("n_permutations", "n_units", "n_mixed")}
    return counts | {"numbers": result.frame[PERMUTATION_COLUMNS].to_dict("records")}


def _describe_check(check):
    """A check, with its finding only if that is a string; others have their own field."""
    finding = check.finding if isinstance(check.finding, str) else None
    return {"name": check.name, "status": check.status, "text": check.text, "finding": finding}


def _as_limits(interval):
    return None if interval is None else dict(zip(("auc", "low", "high"), interval))


_RATE = number(0, 1)

_PERSON = fields(
    person=either(text, number()),
    n_records=count(1),
    score=number(),
    n_above=count(),
    pvalue=_RATE,
)

PEOPLE = fields(
    attack=text,
    combine=word(SUM, MEAN),
    n_members=count(),
    n_nonmembers=count(),
    n_mixed=count(),
    **dict.fromkeys(("auc", "low", "high", "pvalue"), maybe(_RATE)),
    n_permutations=count(1),
    exposed=many(_PERSON, 0, MOST_EXPOSED),
)


def check_people(document):
    """Check that what a document says about people is consistent."""
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
    for what, holds in wrong.items():
        if holds:
            raise ValueError(f"person_level has {what}")


RELEASE, CONDITIONS = "release", "release with conditions"
REFUSE, UNKNOWN = "do not release", "cannot be said"
REFERENCE, STORED = "reference models", "stored numbers"
_MOST_NAMED = 200

_JUDGED = fields(
    name=text,
    group=text,
    limit=number(),
    interval=maybe(many(number(), 3, 3)),
    status=word("pass", "fail", "undecided", "missing", "not judged"),
    n_needed=maybe(count()),
)


def make_recommendation(*ways):
    """The kind of a recommendation for some ways of release."""
    return fields(
        result=word(RELEASE, CONDITIONS, REFUSE, UNKNOWN),
        release=word(*ways),
        not_asked=many(text, 0, _MOST_NAMED),
        reasons=many(text, 1),
        conditions=many(text),
        limits=many(_JUDGED),
        under_conditions=many(_JUDGED),
        tried=many(
            fields(
                name=text,
                release=word(*ways),
                cost=number(0),
                helps=flag,
                reasons=many(text),
                limits=many(_JUDGED),
            ),
            0,
            _MOST_NAMED,
        ),
        checks=many(
            fields(
                name=text,
                level=word("block", "review", "note"),
                status=word("pass", "fail", "missing"),
                text=text,
            ),
            0,
            _MOST_NAMED,
        ),
        reviews=many(fields(check=text, reason=text), 0, _MOST_NAMED),
        policy=fields(name=text, sha256=text, text=text),
        provenance=mapping(text, _MOST_NAMED),
        signatures=many(fields(role=text, name=text, signature=text, date=text), 0, _MOST_NAMED),
        requirements=many(
            fields(name=word(REFERENCE, STORED), is_met=flag, text=text), 0, _MOST_NAMED
        ),
        decision=fields(decision=word("", *DECISIONS), conditions=text, because=text),
        not_run=many(text, 0, _MOST_NAMED),
        remarks=many(text, 0, _MOST_NAMED),
    )


RECOMMENDATION = make_recommendation("service", "file")
TABLE_RECOMMENDATION = make_recommendation("table")

# What the victim of an audit was compared with.
REFERENCE_MODELS = fields(
    recipe=word(OWN, GIVEN, CHOSEN),
    estimator=maybe(text),
    distances=many(fields(estimator=text, distance=number(0)), 0, _MOST_NAMED),
    obstacle=maybe(text),
    attacks=many(fields(attack=text, share=number(0, 1), n_models=maybe(count())), 0, _MOST_NAMED),
    left_out=many(text, 0, _MOST_NAMED),
    gap=maybe(
        fields(
            victim=number(),
            standard_error=number(0),
            mean=number(),
            sd=number(0),
            n_models=count(2),
            z=number(),
        )
    ),
)


def check_recommendation(document):
    """Refuse a recommendation that its own numbers, or the verdict, contradict."""
    found = document["recommendation"]
    if found is None:
        return
    tried = [limit for condition in found["tried"] for limit in condition["limits"]]
    for limit in [*found["limits"], *found["under_conditions"], *tried]:
        interval, end = limit["interval"], 1 if limit["name"] in LOWER_ENDS else 2
        if limit["status"] == "pass" and (interval is None or interval[end] > limit["limit"]):
            raise ValueError(f"recommendation: {limit['name']} does not pass its limit")
    if found["result"] not in (RELEASE, CONDITIONS):
        return
    ways = [document, document["file"]] if found["release"] == "file" else [document]
    if any(way is None or way["evidence"] not in CONCLUSIVE for way in ways):
        raise ValueError("recommendation: the audit is inconclusive, so nothing can be said")
    if found["result"] == RELEASE:
        numbers = {limit["status"] for limit in found["limits"]}
        blocks = {check["status"] for check in found["checks"] if check["level"] == "block"}
        if not numbers <= {"pass", "not judged"} or "pass" not in numbers or blocks - {"pass"}:
            raise ValueError("recommendation: not all limits and checks pass")
    _check_requirements(document, found)


def _check_requirements(document, found):
    """Refuse a release without what the policy asks for, and models that were not compared."""
    helping = next((one for one in found["tried"] if one["helps"]), None)
    is_other_way = helping is not None and helping["release"] != found["release"]
    for one in found["requirements"]:
        if one["name"] == STORED and is_other_way and found["result"] == CONDITIONS:
            continue
        if not one["is_met"]:
            raise ValueError(f"recommendation: a release needs {one['name']}, which it lacks")
        if one["name"] == REFERENCE:
            checks = {check["name"]: _read_check(check) for check in document["checks"]}
            given = document["reference"], checks, True, found["provenance"]
            if why_no_reference(*given) is not None:
                raise ValueError("recommendation: reference contradicts reference models")


def _read_check(check):
    return Check(*(check[name] for name in ("name", "status", "text", "finding")))


_KEY = ["attack", "scope", "group", "metric", "max_fpr"]

# The numbers of shadow models are powers of two; checks, seeds and timed parts are few.
_MOST_SIZES, _MOST_NAMED_SCHEMA = 64, 200

# Checks that every document has, beside those of some kinds of data.
_CHECKS = (
    "blind baseline",
    "difficulty",
    "duplicates",
    "resolution",
    "permuted membership",
    "score sign",
    "shadow models",
    "positive control",
    "negative control",
)

_SHARE = number(-1, 1)
_SETTING = maybe(either(text, many(text)))
_INTERVAL = maybe(fields(auc=_RATE, low=_RATE, high=_RATE))
_DRIFT = fields(
    statistic=number(),
    **dict.fromkeys(("pvalue", "auc", "loss_auc"), _RATE),
    **dict.fromkeys(("n_splits", "n_trained"), count(1)),
)
_LIMITS = {"low": _SHARE, "high": _SHARE}

_RESULT = fields(
    attack=text,
    scope=text,
    group=text,
    metric=word("auc", "advantage", "tpr"),
    max_fpr=maybe(_RATE),
    **dict.fromkeys(("estimate", "low", "high"), maybe(_SHARE)),
    **dict.fromkeys(("fpr", "fpr_low", "fpr_high"), maybe(_RATE)),
    n_members=count(),
    n_nonmembers=count(),
    status=word(OK, NOT_RESOLVABLE, TOO_FEW),
)

_NULL = fields(
    attack=text,
    scope=text,
    group=text,
    metric=word("auc", "tpr"),
    max_fpr=maybe(_RATE),
    pvalue=_RATE,
    pvalue_adjusted=_RATE,
    pvalue_below=maybe(_RATE),
)

_CHECK = fields(
    name=text,
    status=word(PASSED, WARNING, STATED, NOT_RUN, ERROR),
    text=text,
    finding=maybe(text),
)

_POWER = fields(
    attack=text,
    numbers=many(
        fields(n_shadows=count(1), auc=_RATE, sd=maybe(number(0)), n_models=count(1)),
        1,
        _MOST_SIZES,
    ),
)

_STEP = fields(
    n_shadows=count(1),
    attack=text,
    power=_RATE,
    sd=number(0),
    n_models=count(1),
    gain=maybe(_SHARE),
    gain_standard_error=maybe(number(0)),
)

_GROWTH = fields(
    n_shadows=count(1),
    reason=word(ENOUGH, MOST, TIME, UNMEASURED),
    metric=word("auc", "tpr"),
    max_fpr=maybe(_RATE),
    steps=many(_STEP, 0, len(SIZES)),
    seconds_per_model=maybe(number(0)),
    time_budget=maybe(number(0)),
)

_PAIR = fields(
    group=text,
    other=text,
    difference=maybe(number(-2, 2)),
    low=maybe(number(-2, 2)),
    high=maybe(number(-2, 2)),
    pvalue_adjusted=maybe(_RATE),
    reject=flag,
)

_SCOPE = fields(
    scope=text,
    n_rounds=count(1),
    statistic=maybe(number(0)),
    pvalue=_RATE,
    n_permutations=count(1),
    reject=flag,
    disparity=maybe(number(0, 2)),
    anova_statistic=maybe(number(0)),
    anova_df=many(maybe(number(0)), 2, 2),
    anova_pvalue=maybe(_RATE),
    groups=many(fields(group=text, mean=_SHARE, **_LIMITS), low=2),
    pairs=many(_PAIR),
    left_out=many(text),
)

_CURVE = fields(
    attack=text, **dict.fromkeys(("fpr", "tpr", "low", "high"), many(_RATE, 1, MOST_POINTS))
)

_EXPOSED = fields(
    record=either(text, number()),
    position=count(),
    attack=text,
    score=number(),
    n_above=count(),
)

_PERMUTATION = maybe(
    fields(n_permutations=count(1), n_units=count(1), n_mixed=count(), numbers=many(_NULL, low=1))
)

_SOURCE = fields(
    name=text,
    path=text,
    auc=_RATE,
    expected_auc=maybe(_RATE),
    expected_tpr=maybe(_RATE),
    n_equations=maybe(count()),
    misfit=maybe(number(0)),
    n_exposed=maybe(count()),
    exposed_auc=maybe(_RATE),
    hits=maybe(fields(members=_RATE, nonmembers=_RATE)),
)

_ENTRY = fields(place=text, size=count(), part=maybe(text))

_FILE = fields(
    n_records=count(2),
    n_members=count(1),
    answers_only=flag,
    n_rows=maybe(count(1)),
    outsiders=maybe(_RATE),
    reason=maybe(text),
    sources=many(_SOURCE, 0, _MOST_NAMED_SCHEMA),
    ledger=many(_ENTRY),
    expected_auc=maybe(_RATE),
    obstacle=maybe(text),
    stores=many(text, 0, _MOST_NAMED_SCHEMA),
    changes=many(text, 0, _MOST_NAMED_SCHEMA),
    notes=many(text),
    evidence=word(*EVIDENCE),
    verdict=text,
    permutation=_PERMUTATION,
    results=many(_RESULT),
    curves=many(_CURVE, 0, 1),
    exposed=many(_EXPOSED, 0, MOST_EXPOSED),
)

_DOCUMENT = fields(
    created=text,
    versions=mapping(text, _MOST_NAMED_SCHEMA),
    victim=text,
    victim_name=text,
    task=word("classification", "regression"),
    data=fields(n_records=count(2), n_members=count(1), n_nonmembers=count(1)),
    performance=fields(
        metric=word("accuracy", "confidence", "r2"),
        **dict.fromkeys(("members", "nonmembers", "gap"), maybe(number())),
    ),
    baseline=_INTERVAL,
    difficulty=_INTERVAL,
    drift=maybe(_DRIFT),
    settings=fields(
        attacks=mapping(text),
        n_shadows=count(),
        shadow_estimator=maybe(text),
        group=_SETTING,
        fprs=many(_RATE),
        confidence_level=number(1e-9, 1 - 1e-9),
    ),
    seeds=mapping(maybe(count()), _MOST_NAMED_SCHEMA),
    seconds=mapping(number(0), _MOST_NAMED_SCHEMA),
    notes=many(text),
    evidence=word(*EVIDENCE),
    verdict=text,
    permutation=_PERMUTATION,
    checks=many(_CHECK, 0, _MOST_NAMED_SCHEMA),
    power=maybe(_POWER),
    growth=maybe(_GROWTH),
    recommendation=maybe(RECOMMENDATION),
    reference=maybe(REFERENCE_MODELS),
    disparity=maybe(fields(attack=text, scopes=many(_SCOPE))),
    person_level=maybe(PEOPLE),
    results=many(_RESULT, low=1),
    curves=many(_CURVE),
    exposed=many(_EXPOSED, 0, MOST_EXPOSED),
    file=maybe(_FILE),
)


def check_document(document):
    """Check a document from an untrusted source, and derive its verdict again."""
    check_fields(document, _DOCUMENT)
    grounds = _read_grounds(document)
    _check_results(document, grounds.results)
    _check_names(document, grounds)
    _check_null(grounds)
    _check_curves(document)
    check_growth(document)
    check_people(document)
    evidence = choose_evidence(grounds)
    check_evidence(document, evidence)
    file = None if document["file"] is None else _check_file(document, grounds)
    check_recommendation(document)
    level = as_plain_level(measure_level(grounds, evidence))
    return document | {"verdict": write_verdict(grounds, evidence), "level": level, "file": file}


def _check_file(document, grounds):
    """Check the part on the file, and derive its verdict again."""
    file = document["file"]
    whole = document | {name: file[name] for name in ("results", "permutation", "curves")}
    asked = sorted({row["attack"] for row in file["results"]})
    own = _read_grounds(whole)._replace(checks=keep_shared_checks(grounds.checks), asked=asked)
    if file["n_records"] != document["data"]["n_records"]:
        raise ValueError("file.n_records is not data.n_records")
    if (file["reason"] is None) != bool(file["results"] and file["permutation"]):
        raise ValueError("file must have results, or a reason why it has none")
    if file["reason"] is None:
        _check_results(whole, own.results)
        _check_null(own)
        _check_curves(whole)
    if any(row["position"] >= file["n_records"] for row in file["exposed"]):
        raise ValueError("file.exposed has a position beyond all records")
    _check_ledger(file)
    evidence = choose_file_evidence(own, file)
    if evidence != file["evidence"]:
        raise ValueError(f"file.evidence is {file['evidence']!r}, but its numbers say {evidence!r}")
    level = as_plain_level(measure_level(own, evidence))
    return file | {"verdict": write_file_verdict(own, file), "level": level}


def _check_ledger(file):
    """Check that nothing unread, and no unknown strength, goes without an obstacle."""
    if file["obstacle"] is not None:
        return
    if any(one["part"] is None for one in file["ledger"]):
        raise ValueError("file.obstacle is null, but file.ledger has numbers that no part reads")
    if not file["ledger"] or file["expected_auc"] is None:
        raise ValueError("file.obstacle is null, but file.expected_auc or file.ledger is missing")


def _read_grounds(document):
    permutation = document["permutation"] or {"numbers": [], "n_permutations": 0}
    frames = [
        pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
        for rows, columns, numbers in (
            (document["results"], list(COLUMNS), list(COLUMNS[4:11])),
            (
                permutation["numbers"],
                list(PERMUTATION_COLUMNS),
                list(PERMUTATION_COLUMNS[4:]),
            ),
        )
    ]
    names = ("name", "status", "text", "finding")
    checks = [Check(*(check[name] for name in names)) for check in document["checks"]]
    return Grounds(
        *frames,
        permutation["n_permutations"],
        {check.name: check for check in checks},
        document["settings"]["confidence_level"],
        list(document["settings"]["attacks"]),
    )


def _check_results(document, frame):
    """Check that the results are complete, unique and consistent with the counts of the data."""
    data = document["data"]
    if data["n_members"] + data["n_nonmembers"] != data["n_records"]:
        raise ValueError("data.n_members and data.n_nonmembers do not add up to data.n_records")
    is_there, is_rate = frame["status"] == OK, frame["metric"] == "tpr"
    wrong = {
        "has another status than its estimate": is_there != frame["estimate"].notna(),
        "has limits without an estimate": ~is_there & frame[["low", "high"]].notna().any(axis=1),
        "has a lower limit above its upper one": frame["low"] > frame["high"],
        "must have max_fpr if it is a TPR, and only then": is_rate != frame["max_fpr"].notna(),
        "must have fpr if it is a TPR, and only then": (is_rate & is_there) != frame["fpr"].notna(),
        "is below 0 and not an advantage": (frame["estimate"] < 0)
        & (frame["metric"] != "advantage"),
        "is there twice": frame.duplicated(_KEY),
        "has more records than there are": (frame["n_members"] > data["n_members"])
        | (frame["n_nonmembers"] > data["n_nonmembers"]),
    }
    for what, rows in wrong.items():
        if rows.any():
            raise ValueError(f"results[{int(rows.to_numpy().argmax())}] {what}")
    rates = [("auc", -1), ("advantage", -1)]
    rates = {*rates, *(("tpr", rate) for rate in document["settings"]["fprs"])}
    for names, rows in frame.fillna({"max_fpr": -1}).groupby(["attack", "scope", "group"]):
        if set(zip(rows["metric"], rows["max_fpr"])) != rates:
            raise ValueError(
                f"results has other numbers of {visible(', '.join(names))} than settings.fprs"
            )


def _check_null(grounds):
    null = grounds.null
    known = set(grounds.results[_KEY].fillna(-1).itertuples(index=False, name=None))
    for place, row in enumerate(null[_KEY].fillna(-1).itertuples(index=False, name=None)):
        if row not in known:
            raise ValueError(f"permutation.numbers[{place}] is about a number not in results")
    wrong = (null["metric"] == "auc") != null["pvalue_below"].notna()
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        raise ValueError(f"permutation.numbers[{place}] must have pvalue_below only for an AUC")
    if grounds.checks["permuted membership"].is_error and null.empty:
        return
    frame = grounds.results
    aucs = frame[(frame["metric"] == "auc") & (frame["scope"] == OVERALL)]
    aucs = aucs[aucs["status"] == OK]
    tested = set(null[_KEY].fillna(-1).itertuples(index=False, name=None))
    needed = set(aucs[_KEY].fillna(-1).itertuples(index=False, name=None))
    if not needed <= tested or null.duplicated(_KEY).any():
        raise ValueError("permutation.numbers must have each AUC over all records once")


def _check_names(document, grounds):
    """Check that all checks are there, and that each named attack and record exists."""
    missing = [name for name in _CHECKS if name not in grounds.checks]
    if missing or len(grounds.checks) != len(document["checks"]):
        raise ValueError(f"checks lacks {', '.join(missing) or 'nothing, but has one twice'}")
    frame = grounds.results
    ran = set(frame.loc[(frame["metric"] == "auc") & (frame["scope"] == OVERALL), "attack"])
    named = {"results": set(frame["attack"])}
    named["curves"] = {curve["attack"] for curve in document["curves"]}
    named["exposed"] = {row["attack"] for row in document["exposed"]}
    for name in ("power", "disparity", "person_level"):
        named[name] = set() if document[name] is None else {document[name]["attack"]}
    for name, attacks in named.items():
        if not attacks <= ran & set(grounds.asked):
            raise ValueError(f"{name} names an attack that settings or results lack")
    for row in document["exposed"]:
        if row["position"] >= document["data"]["n_records"]:
            raise ValueError(f"exposed has the position {row['position']}, beyond all records")


def _check_curves(document):
    if len({curve["attack"] for curve in document["curves"]}) < len(document["curves"]):
        raise ValueError("curves must have each attack once")
    for place, curve in enumerate(document["curves"]):
        lengths = {len(curve[name]) for name in ("fpr", "tpr", "low", "high")}
        if len(lengths) > 1 or curve["fpr"] != sorted(curve["fpr"]) or not curve["fpr"][-1]:
            raise ValueError(f"curves[{place}] must have as many rates of each kind, in order")
    numbers = [] if document["power"] is None else document["power"]["numbers"]
    sizes = [row["n_shadows"] for row in numbers]
    if sizes != sorted(set(sizes)):
        raise ValueError("power.numbers must be in the order of n_shadows")
