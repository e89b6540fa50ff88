"""The schema of the document of an audit: its fields, their kinds and their ranges."""

import pandas as pd

from .._core.evidence import EVIDENCE, check_evidence
from .._core.kinds import (
    check_fields,
    count,
    either,
    fields,
    flag,
    many,
    mapping,
    maybe,
    number,
    text,
    word,
)
from .._core.visible import visible
from ._curves import MOST_EXPOSED, MOST_POINTS
from .checks.base import ERROR, NOT_RUN, PASSED, STATED, WARNING, Check
from .document import PERMUTATION_COLUMNS
from .evidence import Grounds, choose_evidence
from .file_verdict import choose_file_evidence, keep_shared_checks, write_file_verdict
from .groups import OVERALL
from .growth import ENOUGH, MOST, SIZES, TIME, UNMEASURED, check_growth
from .measure import COLUMNS, NOT_RESOLVABLE, OK, TOO_FEW
from .person_schema import PEOPLE, check_people
from .release_schema import RECOMMENDATION, REFERENCE_MODELS, check_recommendation
from .verdict import write_verdict

# Fields that earlier audits lack.
_ADDED = dict.fromkeys(("drift", "file", "growth", "recommendation", "person_level", "reference"))

_KEY = ["attack", "scope", "group", "metric", "max_fpr"]

# The numbers of shadow models are powers of two; checks, seeds and timed parts are few.
_MOST_SIZES, _MOST_NAMED = 64, 200

# Checks in every document of this version; later versions may add others.
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

_RATE = number(0, 1)
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

_SOURCE_FIELDS = fields(
    name=text,
    auc=_RATE,
    expected_auc=maybe(_RATE),
    expected_tpr=maybe(_RATE),
    n_equations=maybe(count()),
    misfit=maybe(number(0)),
    n_exposed=maybe(count()),
    exposed_auc=maybe(_RATE),
)


_HITS = fields(members=_RATE, nonmembers=_RATE)


def _SOURCE(value, where):
    _SOURCE_FIELDS(value, where)
    # Documents of earlier versions have neither.
    text(value.get("path", ""), f"{where}.path")
    if "hits" in value:
        _HITS(value["hits"], f"{where}.hits")


_ENTRY = fields(place=text, size=count(), part=maybe(text))

_FILE = fields(
    n_records=count(2),
    n_members=count(1),
    answers_only=flag,
    n_rows=maybe(count(1)),
    outsiders=maybe(_RATE),
    reason=maybe(text),
    sources=many(_SOURCE, 0, _MOST_NAMED),
    ledger=many(_ENTRY),
    expected_auc=maybe(_RATE),
    obstacle=maybe(text),
    stores=many(text, 0, _MOST_NAMED),
    changes=many(text, 0, _MOST_NAMED),
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
    versions=mapping(text, _MOST_NAMED),
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
    seeds=mapping(maybe(count()), _MOST_NAMED),
    seconds=mapping(number(0), _MOST_NAMED),
    notes=many(text),
    evidence=word(*EVIDENCE),
    verdict=text,
    permutation=_PERMUTATION,
    checks=many(_CHECK, 0, _MOST_NAMED),
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
    """Check a document from an untrusted source, and derive its verdict again.

    Parameters
    ----------
    document : object
        Content of a JSON file.

    Returns
    -------
    document : dict
        The same document with the verdict that follows from its numbers.

    Raises
    ------
    ValueError
        If a field is missing, has another kind, or contradicts another one.
    """
    document = check_fields(document, _DOCUMENT, _ADDED)
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
    return document | {"verdict": write_verdict(grounds, evidence), "file": file}


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
    return file | {"verdict": write_file_verdict(own, file)}


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
