"""The fields of the documents of audits, of models and of tables: their kinds and their ranges."""

import re
import reprlib

from .._core.escaping import visible
from .._core.levels import EVIDENCE
from ..disclosure import DECISIONS
from ..synthetic import SCHEMA as TABLE_SCHEMA
from ._measure import MOST_EXPOSED, MOST_POINTS, NOT_RESOLVABLE, OK, TOO_FEW
from ._people import MEAN, SUM
from ._pool_size import ENOUGH, MEMORY, MOST, SIZES, TIME, UNMEASURED
from ._surrogate import CHOSEN, GIVEN, OWN
from .checks._base import ERROR, NOT_RUN, PASSED, STATED, WARNING

# Each kind is a function of a value and its place. It raises a ValueError that names the field, the
# expected kind and the value that was found.

# Largest number in a document: audits do not produce larger ones, and floats overflow soon after.
_LARGEST = 1e300

# By so much a computed number can lie beyond its range.
_ROUNDING = 1e-12

# The size for six fields of a hundred groups each, or for a table of thousands of columns; the page
# of a larger document takes minutes.
_MOST_VALUES, _DEEPEST = 500_000, 20


def refuse(where, wanted, value):
    raise ValueError(f"{where or 'the document'} must be {wanted}; got {reprlib.repr(value)}")


def check_fields(document, kind):
    """Refuse a document with too many values, nested too deep, or of another kind."""
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
    kind(document, "")


def check_version(document, known):
    """Refuse a document of another version of its schema, whose fields may mean something else."""
    version = document.get("schema_version") if isinstance(document, dict) else known
    if isinstance(version, bool) or version != known:
        raise ValueError(
            f"it has version {reprlib.repr(version)} of the schema, and this skmia reads version "
            f"{known}"
        )


def _name_field_kind(wanted, holds):
    """Return a kind by its test, and its name in a refusal."""

    def check(value, where):
        if not holds(value):
            refuse(where, wanted, value)

    return check


def _lies(value, kinds, low, high):
    return isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high


def number(low=-_LARGEST, high=_LARGEST):
    span = "" if high == _LARGEST else f" from {low:g} to {high:g}"
    least, most = low - _ROUNDING, high + _ROUNDING
    return _name_field_kind(f"a number{span}", lambda value: _lies(value, int | float, least, most))


def count(low=0):
    return _name_field_kind(
        f"a whole number from {low} on", lambda value: _lies(value, int, low, _LARGEST)
    )


def word(*words):
    return _name_field_kind(f"one of {', '.join(words)}", lambda value: value in words)


def text(value, where):
    is_text = isinstance(value, str)
    if not is_text or _SURROGATE.search(value):
        refuse(where, "text that can be written" if is_text else "text", value)


flag = _name_field_kind("true or false", lambda value: isinstance(value, bool))
_array = _name_field_kind("an array", lambda value: isinstance(value, list))
_object = _name_field_kind("an object", lambda value: isinstance(value, dict))
_SURROGATE = re.compile("[\ud800-\udfff]")


def maybe(check_it):
    def check(value, where):
        if value is not None:
            check_it(value, where)

    return check


def either(first, second):
    def check(value, where):
        try:
            first(value, where)
        except ValueError:
            second(value, where)

    return check


def many(check_it, low=0, high=None):
    def check(value, where):
        _array(value, where)
        if len(value) < low or (high is not None and len(value) > high):
            wanted = f"at least {low}" if len(value) < low else f"at most {high}"
            raise ValueError(f"{where} must have {wanted} entries; got {len(value)}")
        for place, item in enumerate(value):
            check_it(item, f"{where}[{place}]")

    return check


def mapping(check_it, high=None):
    def check(value, where):
        _object(value, where)
        if high is not None and len(value) > high:
            raise ValueError(f"{where} must have at most {high} fields; got {len(value)}")
        for key, item in value.items():
            text(key, f"a name in {where}")
            check_it(item, f"{where}.{visible(key)}")

    return check


# Of services alone, and of documents of before.
_MAY_LACK = {"n_queries", "unknown_classes", "weightless", "unchanged", "identifiers", "group_by"}
_MAY_LACK |= {"n_equal", "told", "unit", "n_persons_real", "n_persons_holdout", "n_persons_shared"}


def fields(**fields):
    """Return an object with at least these fields."""

    def check(value, where):
        _object(value, where)
        missing = [name for name in fields if name not in value.keys() | _MAY_LACK]
        if missing:
            raise ValueError(f"{where or 'the document'} lacks {', '.join(missing)}")
        for name, check_it in fields.items():
            if name in value:
                check_it(value[name], f"{where}.{name}" if where else name)

    return check


def each(names, kind):
    """Return several fields of one kind."""
    return dict.fromkeys(names.split(), kind)


# The numbers of shadow models are powers of two; checks, seeds and timed parts are few.
_MOST_SIZES, _MOST_NAMED = 64, 200

RATE, _NUMBER, _SHARE = number(0, 1), maybe(number()), number(-1, 1)
MAYBE_RATE, _MAYBE_COUNT, _MAYBE_TEXT = maybe(RATE), maybe(count()), maybe(text)
_SPREAD = maybe(number(0))  # a deviation, a statistic or a time
_TEXTS, _NAMES = many(text), many(text, 0, _MOST_NAMED)
_LEVEL = number(1e-9, 1 - 1e-9)

RELEASE, CONDITIONS = "release", "release with conditions"
REFUSE, UNKNOWN = "do not release", "cannot be said"
REFERENCE, STORED, LISTED = "reference models", "stored numbers", "all training rows"

_JUDGED = fields(
    **each("name group", text),
    limit=number(),
    interval=maybe(many(number(), 3, 3)),
    status=word("pass", "fail", "undecided", "missing", "not judged"),
    n_needed=_MAYBE_COUNT,
)


def _make_recommendation(*ways):
    """Return the kind of a recommendation for some ways of release."""
    tried = fields(
        name=text,
        release=word(*ways),
        cost=number(0),
        helps=flag,
        reasons=_TEXTS,
        limits=many(_JUDGED),
    )
    check = fields(
        **each("name text", text),
        level=word("block", "review", "note"),
        status=word("pass", "fail", "missing"),
    )
    required = fields(name=word(REFERENCE, STORED, LISTED), is_met=flag, text=text)
    return fields(
        result=word(RELEASE, CONDITIONS, REFUSE, UNKNOWN),
        release=word(*ways),
        reasons=many(text, 1),
        conditions=_TEXTS,
        **each("not_asked not_run remarks", _NAMES),
        **each("limits under_conditions", many(_JUDGED)),
        tried=many(tried, 0, _MOST_NAMED),
        checks=many(check, 0, _MOST_NAMED),
        reviews=many(fields(**each("check reason", text)), 0, _MOST_NAMED),
        policy=fields(**each("name sha256 text", text), alpha=_LEVEL),
        provenance=mapping(text, _MOST_NAMED),
        signatures=many(fields(**each("role name signature date", text)), 0, _MOST_NAMED),
        requirements=many(required, 0, _MOST_NAMED),
        decision=fields(decision=word("", *DECISIONS), **each("conditions because", text)),
    )


def _make_head(*ways):
    """Return what the documents of all audits have in common."""
    return {
        "created": text,
        "versions": mapping(text, _MOST_NAMED),
        "seeds": mapping(_MAYBE_COUNT, _MOST_NAMED),
        "seconds": mapping(number(0), _MOST_NAMED),
        "notes": _TEXTS,
        "evidence": word(*EVIDENCE),
        "verdict": text,
        "recommendation": maybe(_make_recommendation(*ways)),
    }


# What the victim of an audit was compared with.
_GAP = fields(
    **each("victim mean z", number()), **each("standard_error sd", number(0)), n_models=count(2)
)
_REFERENCE_MODELS = fields(
    recipe=word(OWN, GIVEN, CHOSEN),
    **each("estimator obstacle", _MAYBE_TEXT),
    distances=many(fields(estimator=text, distance=number(0)), 0, _MOST_NAMED),
    attacks=many(fields(attack=text, share=RATE, n_models=_MAYBE_COUNT), 0, _MOST_NAMED),
    left_out=_NAMES,
    gap=maybe(_GAP),
)

_PERSON = fields(
    person=either(text, number()),
    n_records=count(1),
    score=number(),
    n_above=count(),
    n_equal=count(1),
    pvalue=RATE,
)
PEOPLE = fields(
    attack=text,
    combine=word(SUM, MEAN),
    **each("n_members n_nonmembers n_mixed", count()),
    **each("auc low high pvalue", MAYBE_RATE),
    n_permutations=count(1),
    exposed=many(_PERSON, 0, MOST_EXPOSED),
)

_INTERVAL = maybe(fields(**each("auc low high", RATE)))
_DRIFT = fields(
    statistic=number(),
    **each("pvalue auc loss_auc", RATE),
    **each("n_splits n_trained", count(1)),
)
_RESULT = fields(
    **each("attack scope group", text),
    metric=word("auc", "advantage", "tpr"),
    **each("estimate low high", maybe(_SHARE)),
    **each("max_fpr fpr fpr_low fpr_high", MAYBE_RATE),
    **each("n_members n_nonmembers", count()),
    status=word(OK, NOT_RESOLVABLE, TOO_FEW),
    told=maybe(flag),
)
_NULL = fields(
    **each("attack scope group", text),
    metric=word("auc", "tpr"),
    **each("pvalue pvalue_adjusted", RATE),
    **each("max_fpr pvalue_below", MAYBE_RATE),
)
_PERMUTATION = maybe(
    fields(**each("n_permutations n_units", count(1)), n_mixed=count(), numbers=many(_NULL, low=1))
)
_CHECK = fields(
    **each("name text", text),
    status=word(PASSED, WARNING, STATED, NOT_RUN, ERROR),
    finding=either(_MAYBE_TEXT, many(number(), 3, 3)),
)

_SIZE = fields(**each("n_shadows n_models", count(1)), auc=RATE, sd=_SPREAD)
_STEP = fields(
    attack=text,
    **each("n_shadows n_models", count(1)),
    power=RATE,
    sd=number(0),
    gain=maybe(_SHARE),
    gain_standard_error=_SPREAD,
)
_GROWTH = fields(
    n_shadows=count(1),
    reason=word(ENOUGH, MOST, TIME, UNMEASURED, MEMORY),
    metric=word("auc", "tpr"),
    max_fpr=MAYBE_RATE,
    steps=many(_STEP, 0, len(SIZES)),
    **each("seconds_per_model time_budget", _SPREAD),
)

_PAIR = fields(
    **each("group other", text),
    **each("difference low high", maybe(number(-2, 2))),
    pvalue_adjusted=MAYBE_RATE,
    reject=flag,
)
_SCOPE = fields(
    scope=text,
    **each("n_rounds n_permutations", count(1)),
    **each("statistic anova_statistic", _SPREAD),
    pvalue=RATE,
    anova_pvalue=MAYBE_RATE,
    anova_df=many(_SPREAD, 2, 2),
    reject=flag,
    disparity=maybe(number(0, 2)),
    groups=many(fields(group=text, **each("mean low high", _SHARE)), low=2),
    pairs=many(_PAIR),
    left_out=_TEXTS,
)

_CURVE = fields(attack=text, **each("fpr tpr low high", many(RATE, 1, MOST_POINTS)))
_EXPOSED = fields(
    record=either(text, number()),
    attack=text,
    score=number(),
    **each("position n_above", count()),
    n_equal=count(1),
)

_SOURCE = fields(
    **each("name path", text),
    auc=RATE,
    **each("expected_auc expected_tpr exposed_auc", MAYBE_RATE),
    **each("n_equations n_exposed", _MAYBE_COUNT),
    misfit=_SPREAD,
    hits=maybe(fields(**each("members nonmembers", RATE))),
)
_FILE = fields(
    n_records=count(2),
    n_members=count(1),
    n_rows=maybe(count(1)),
    answers_only=flag,
    **each("outsiders expected_auc", MAYBE_RATE),
    **each("reason obstacle", _MAYBE_TEXT),
    sources=many(_SOURCE, 0, _MOST_NAMED),
    ledger=many(fields(place=text, size=count(), part=_MAYBE_TEXT)),
    **each("stores changes", _NAMES),
    notes=_TEXTS,
    evidence=word(*EVIDENCE),
    verdict=text,
    permutation=_PERMUTATION,
    results=many(_RESULT),
    curves=many(_CURVE, 0, 1),
    exposed=many(_EXPOSED, 0, MOST_EXPOSED),
)

AUDIT = fields(
    **_make_head("service", "file"),
    **each("victim victim_name", text),
    task=word("classification", "regression"),
    data=fields(
        n_records=count(2),
        **each("n_members n_nonmembers", count(1)),
        n_queries=count(),
        unknown_classes=fields(
            **each("unknown_members unknown_nonmembers unmatched_members", count())
        ),
        weightless=fields(**each("weightless_members weightless_nonmembers", count())),
    ),
    performance=fields(
        metric=word("accuracy", "confidence", "r2"), **each("members nonmembers gap", _NUMBER)
    ),
    **each("baseline difficulty", _INTERVAL),
    drift=maybe(_DRIFT),
    settings=fields(
        attacks=mapping(text),
        n_shadows=count(),
        shadow_estimator=_MAYBE_TEXT,
        group=maybe(either(text, _TEXTS)),
        fprs=many(RATE),
        confidence_level=_LEVEL,
    ),
    permutation=_PERMUTATION,
    checks=many(_CHECK, 0, _MOST_NAMED),
    power=maybe(fields(attack=text, numbers=many(_SIZE, 1, _MOST_SIZES))),
    growth=maybe(_GROWTH),
    reference=maybe(_REFERENCE_MODELS),
    disparity=maybe(fields(attack=text, scopes=many(_SCOPE))),
    person_level=maybe(PEOPLE),
    results=many(_RESULT),
    curves=many(_CURVE),
    exposed=many(_EXPOSED, 0, MOST_EXPOSED),
    file=maybe(_FILE),
)

# Of audits of synthetic tables.
_UP_TO_1, _ROWS = maybe(number(high=1)), either(count(), number(0))
_EXCESS = fields(
    name=text,
    **each("estimate low high", _UP_TO_1),
    **each("attack control naive pvalue pvalue_below", MAYBE_RATE),
    **each("n_attacks n_controls", _ROWS),
    pvalue_holm=RATE,
    leak=flag,
)
_COPIES = fields(
    name=text,
    **each("train test n_train n_test", _ROWS),
    **each("pvalue pvalue_below share_counted", RATE),
    **each("share low high", _UP_TO_1),
    **each("smallest_share smallest_share_corrected", MAYBE_RATE),
)
_SIMILARITY = fields(name=text, **each("estimate low high real", _UP_TO_1))
_UTILITY = fields(name=text, **each("estimate low high", _NUMBER), real=_UP_TO_1)
_TRAINED = fields(
    target=text,
    metric=word("AUC", "accuracy", "R2"),
    **each("chance synthetic real", number(high=1)),
    **each("estimate low high", _NUMBER),
)
_FURTHER = fields(name=text, **each("mean sd smallest largest", _NUMBER), n_tables=count(1))
_TABLE_CHECK = fields(**each("name text", text), status=word(PASSED, WARNING, STATED, NOT_RUN))

TABLE = fields(
    **_make_head("table"),
    schema=word(TABLE_SCHEMA),
    data=fields(
        **each("n_real n_synthetic n_columns", count(1)),
        **each("n_persons_real n_persons_holdout n_persons_shared", count()),
        unit=word("row", "person"),
        identifiers=_TEXTS,
    ),
    unchanged=fields(**each("train n_train alone", count()), **each("test n_test", maybe(count()))),
    settings=fields(
        target=_MAYBE_TEXT,
        secrets=maybe(_TEXTS),
        group_by=_MAYBE_TEXT,
        identifiers=maybe(_TEXTS),
        confidence_level=_LEVEL,
    ),
    checks=many(_TABLE_CHECK, 1, _MOST_NAMED),
    results=many(_EXCESS),
    reversed=_TEXTS,
    copies=maybe(many(_COPIES)),
    utility=many(_UTILITY, 1),
    trained=maybe(_TRAINED),
    spread=maybe(many(_FURTHER)),
    columns=many(_SIMILARITY, 1),
    pairs=many(_SIMILARITY),
)
