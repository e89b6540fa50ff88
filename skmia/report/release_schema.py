"""The part of the document of an audit that holds a recommendation."""

from .._core.evidence import CONCLUSIVE
from .._core.kinds import count, fields, flag, many, mapping, maybe, number, text, word
from ..disclosure import LOWER_ENDS

RELEASE, CONDITIONS = "release", "release with conditions"
REFUSE, UNKNOWN = "do not release", "cannot be said"
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
    )


RECOMMENDATION = make_recommendation("service", "file")
TABLE_RECOMMENDATION = make_recommendation("table")


def check_recommendation(document):
    """Refuse a recommendation that its own numbers, or the verdict, contradict.

    Raises
    ------
    ValueError
        If a release is recommended although a limit is exceeded, was not measured or may be
        exceeded, a check forbids it, or the audit is inconclusive.
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
