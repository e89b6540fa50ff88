"""The part of the document of an audit that holds a recommendation."""

from .._core.evidence import CONCLUSIVE
from .._core.kinds import (
    count,
    fields,
    flag,
    many,
    mapping,
    maybe,
    number,
    text,
    with_later,
    word,
)
from ..disclosure import LOWER_ENDS
from .checks.base import Check
from .stand_in import CHOSEN, GIVEN, OWN, why_no_reference

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
    found = fields(
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
    )
    return with_later(
        found,
        requirements=many(
            fields(name=word(REFERENCE, STORED), is_met=flag, text=text), 0, _MOST_NAMED
        ),
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
    """Refuse a recommendation that its own numbers, or the verdict, contradict.

    Raises
    ------
    ValueError
        If a release is recommended although a limit is exceeded, was not measured or may be
        exceeded, a check forbids it, the audit is inconclusive, or something that the policy asks
        for was not able to find anything.
    """
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
    for one in found.get("requirements", []):  # earlier documents have none
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
