"""The schema of the document of an audit of a synthetic table."""

import numpy as np
import pandas as pd

from .._core.pages import EVIDENCE, as_plain_level, check_evidence
from ..synthetic import (
    FIRST,
    SCHEMA,
    SCHEMA_VERSION,
    Grounds,
    choose_evidence,
    correct,
    list_reversals,
    measure_level,
    write_verdict,
)
from ._schema import (
    TABLE_RECOMMENDATION,
    check_fields,
    check_recommendation,
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

_MOST_NAMED = 200

_RATE, _NUMBER = number(0, 1), maybe(number())
_SHARE = maybe(number(high=1))
_LIMITS = dict.fromkeys(("estimate", "low", "high"), _SHARE)
_RATIO = dict.fromkeys(("estimate", "low", "high"), _NUMBER)
_ROWS = either(count(), number(0))

_RESULT = fields(
    name=text,
    **_LIMITS,
    **dict.fromkeys(("attack", "control", "naive"), maybe(_RATE)),
    **dict.fromkeys(("n_attacks", "n_controls"), _ROWS),
    **dict.fromkeys(("pvalue", "pvalue_below"), maybe(_RATE)),
    pvalue_holm=_RATE,
    leak=flag,
)

_COPIES = fields(
    name=text,
    **dict.fromkeys(("train", "test", "n_train", "n_test"), _ROWS),
    **dict.fromkeys(("pvalue", "pvalue_below"), _RATE),
    **dict.fromkeys(("share", "low", "high"), _SHARE),
    share_counted=_RATE,
    **dict.fromkeys(("smallest_share", "smallest_share_corrected"), maybe(_RATE)),
)

_SIMILARITY = fields(name=text, **_LIMITS, real=_SHARE)
_UTILITY = fields(name=text, **_RATIO, real=_SHARE)

_SPREAD = fields(
    name=text,
    **dict.fromkeys(("mean", "sd", "smallest", "largest"), _NUMBER),
    n_tables=count(1),
)

_DOCUMENT = fields(
    schema=word(SCHEMA),
    schema_version=count(SCHEMA_VERSION),
    created=text,
    versions=mapping(text, _MOST_NAMED),
    data=fields(n_real=count(1), n_synthetic=count(1), n_columns=count(1)),
    settings=fields(
        target=maybe(text),
        secrets=maybe(many(text)),
        confidence_level=number(1e-9, 1 - 1e-9),
    ),
    seeds=mapping(maybe(count()), _MOST_NAMED),
    seconds=mapping(number(0), _MOST_NAMED),
    notes=many(text),
    evidence=word(*EVIDENCE),
    verdict=text,
    recommendation=maybe(TABLE_RECOMMENDATION),
    checks=many(
        fields(name=text, status=word("passed", "warning", "stated", "not run"), text=text),
        1,
        _MOST_NAMED,
    ),
    results=many(_RESULT),
    reversed=many(text),
    copies=maybe(many(_COPIES)),
    utility=many(_UTILITY, 1),
    trained=maybe(
        fields(
            target=text,
            metric=word("AUC", "accuracy", "R2"),
            **dict.fromkeys(("chance", "synthetic", "real"), number(high=1)),
            **_RATIO,
        )
    ),
    spread=maybe(many(_SPREAD)),
    columns=many(_SIMILARITY, 1),
    pairs=many(_SIMILARITY),
)


def check_table_document(document):
    """Check a document from an untrusted source, and derive its verdict again."""
    check_fields(document, _DOCUMENT)
    _check_limits(document)
    grounds = _read_grounds(document)
    if document["reversed"] != list_reversals(grounds.results):
        raise ValueError("reversed does not follow from results")
    evidence = choose_evidence(grounds)
    check_evidence(document, evidence)
    check_recommendation(document)
    level = as_plain_level(measure_level(grounds, evidence), ("excess",))
    return document | {"verdict": write_verdict(grounds, evidence), "level": level}


def _read_grounds(document):
    level = document["settings"]["confidence_level"]
    checks = {check["name"]: check for check in document["checks"]}
    if "interval" not in checks.get("one population", ()):
        raise ValueError("checks lacks one population, or its interval")
    maybe(many(_RATE, 3, 3))(checks["one population"]["interval"], "checks.interval")
    n_rows = {name: document["data"].get(f"n_{name}", 0) for name in ("real", "synthetic")}
    n_rows["holdout"] = document["data"].get("n_holdout", 0)
    count()(n_rows["holdout"], "data.n_holdout")
    shift = checks["one population"]
    return Grounds(
        _read_results(document, level, bool(n_rows["holdout"])),
        n_rows,
        level,
        _read_smallest_share(document),
        shift["text"] if shift["status"] == "warning" else None,
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
    if not np.allclose(frame["pvalue_holm"], correct(frame.index, frame["pvalue"])):
        raise ValueError("pvalue_holm of results does not follow from pvalue")
    if (frame["leak"] != (frame["pvalue_holm"] <= 1 - level)).any():
        raise ValueError("leak of results does not follow from pvalue_holm")
    return frame


def _check_limits(document):
    """Refuse limits that do not hold their estimate."""
    for part in ("results", "utility", "columns", "pairs"):
        for place, row in enumerate(document[part]):
            limits = [row[name] for name in ("low", "estimate", "high") if row[name] is not None]
            if limits != sorted(limits):
                raise ValueError(f"{part}[{place}] has an estimate outside of its limits")


def _read_smallest_share(document):
    if document["copies"] is None:
        return np.inf
    shares = {row["name"]: row["smallest_share_corrected"] for row in document["copies"]}
    if FIRST not in shares:
        raise ValueError(f"copies lacks {FIRST}")
    return np.inf if shares[FIRST] is None else shares[FIRST]
