"""What stored documents contradict in themselves, with answers by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import inf, nan

from skmia.report import _document
from skmia.report._evidence import Grounds

# -- people


def wrong_people(n_records=10, exposed=(), **given):
    usual = {"n_members": 3, "n_nonmembers": 4, "n_mixed": 3, "auc": 0.5, "low": 0.4}
    usual |= {"high": 0.6, "pvalue": 0.1, "exposed": [{"n_above": n} for n in exposed]}
    found = {"person_level": usual | given, "data": {"n_records": n_records}}
    return [*_document.list_wrong_people(found)]


NONE = dict.fromkeys(("auc", "low", "high", "pvalue"))
PEOPLE = [
    (lambda: [*_document.list_wrong_people({"person_level": None})], []),
    (lambda: wrong_people(), []),
    (lambda: wrong_people(9), ["more people than there are records"]),
    (lambda: wrong_people(pvalue=None), ["some but not all of auc, low, high and pvalue"]),
    (lambda: wrong_people(**NONE), []),
    (lambda: wrong_people(exposed=[4, 0, 4]), []),
    (lambda: wrong_people(exposed=[1], **NONE), ["exposed people without an AUC"]),
    (lambda: wrong_people(exposed=[1] * 4), ["more exposed people than members"]),
    (lambda: wrong_people(exposed=[0, 5]), ["more non-members above a person than there are"]),
    (lambda: wrong_people(low=0.6), []),
    (lambda: wrong_people(low=0.61), ["a lower limit above the upper one"]),
]

# -- recommendations


def limit(name="auc", status="pass", interval=(0.5, 0.4, 0.6), most=0.6):
    return {"name": name, "status": status, "interval": interval, "limit": most}


def wrong_recommendation(evidence="none", file="leak", checks=(), warns=False, **given):
    usual = {"tried": [], "limits": [limit()], "under_conditions": [], "result": "release"}
    usual |= {"release": "service", "checks": checks, "requirements": [], "provenance": "origin"}
    usual |= {"checks": [{"status": status, "level": level} for status, level in checks]}
    found = {"recommendation": usual | given, "evidence": evidence, "checks": ["all"]}
    found |= {"file": file and {"evidence": file}, "reference": "of models"}
    if given.get("is_table"):
        del found["reference"]
    asked = []
    parts = {
        "_list_wrong_requirements": lambda document, found: [],
        "read_checks": lambda checks: checks,
        "list_warnings": lambda *given: asked.append(given) or warns,
    }
    with mock.patch.multiple(_document, **parts):
        told = [*_document._list_wrong_recommendation(found)]
    assert asked in ([], [(["all"], "of models", "origin")])
    return told, len(asked)


def wrong_requirements(*requirements, tried=(), result="conditions", release="file", why=None):
    """Return what a release lacks, of requirements by name, met or not."""
    found = {"requirements": [{"name": name, "is_met": met} for name, met in requirements]}
    found["tried"] = [{"helps": helps, "release": way} for helps, way in tried]
    found |= {"release": release, "provenance": "origin"}
    found["result"] = _document.CONDITIONS if result == "conditions" else _document.RELEASE
    parts = {
        "read_checks": lambda checks: (checks,),
        "why_no_reference": lambda *given: given != ("ref", ("c",), True, "origin") or why,
        "why_unlisted": lambda *given: given != (("c",), "origin") or why,
    }
    document = {"checks": "c", "reference": "ref"}
    with mock.patch.multiple(_document, **parts):
        return [*_document._list_wrong_requirements(document, found)]


PASSES, LACKS = "auc does not pass its limit", f"a release needs {_document.STORED}, which it lacks"
NOT_ALL = "not all limits and checks pass"
OPEN = "the audit is inconclusive, so nothing can be said"
LOWER = next(iter(_document.LOWER_ENDS))
RECOMMENDATIONS = [
    (lambda: [*_document._list_wrong_recommendation({"recommendation": None})], []),
    (lambda: wrong_recommendation(), ([], 1)),
    (lambda: wrong_recommendation(is_table=True), ([], 0)),
    (lambda: wrong_recommendation(warns=True)[0], ["a check warns that low numbers say nothing"]),
    # The upper end of a limit counts, or the lower one of what has to be large.
    (lambda: wrong_recommendation(limits=[limit(most=0.59)])[0], [PASSES]),
    (lambda: wrong_recommendation(limits=[limit(interval=None)])[0], [PASSES]),
    (lambda: wrong_recommendation(limits=[limit(), limit("b", "fail", None)])[0], [NOT_ALL]),
    (lambda: wrong_recommendation(limits=[limit(LOWER, most=0.4)])[0], []),
    (
        lambda: wrong_recommendation(limits=[limit(LOWER, most=0.39)])[0],
        [f"{LOWER} does not pass its limit"],
    ),
    (lambda: wrong_recommendation(under_conditions=[limit(most=0.5)])[0], [PASSES]),
    (lambda: wrong_recommendation(tried=[{"limits": [limit(most=0.5)]}])[0], [PASSES]),
    (lambda: wrong_recommendation(evidence="open")[0], [OPEN]),
    (lambda: wrong_recommendation(evidence="open", result="cannot be said"), ([], 0)),
    (lambda: wrong_recommendation(file="open")[0], []),
    (lambda: wrong_recommendation(file="open", release="file")[0], [OPEN]),
    (lambda: wrong_recommendation(file=None, release="file")[0], [OPEN]),
    (lambda: wrong_recommendation(limits=[limit(), limit("b", "not judged")])[0], []),
    (lambda: wrong_recommendation(limits=[limit("b", "not judged")])[0], [NOT_ALL]),
    (lambda: wrong_recommendation(limits=[])[0], [NOT_ALL]),
    (lambda: wrong_recommendation(checks=[("fail", "warn"), ("pass", "block")])[0], []),
    (lambda: wrong_recommendation(checks=[("fail", "block")])[0], [NOT_ALL]),
    (
        lambda: wrong_recommendation(
            checks=[("fail", "block")], limits=[limit(status="fail")], result=_document.CONDITIONS
        ),
        ([], 1),
    ),
    # What is stored is not needed where another way of release helps.
    (lambda: wrong_requirements(("a", True), (_document.STORED, True)), []),
    (lambda: wrong_requirements((_document.STORED, False)), [LACKS]),
    (lambda: wrong_requirements((_document.STORED, False), tried=[(True, "service")]), []),
    (lambda: wrong_requirements((_document.STORED, False), tried=[(True, "file")]), [LACKS]),
    (lambda: wrong_requirements((_document.STORED, False), tried=[(False, "service")]), [LACKS]),
    (
        lambda: wrong_requirements(
            (_document.STORED, False), tried=[(True, "file"), (True, "service")]
        ),
        [LACKS],
    ),
    (
        lambda: wrong_requirements(
            (_document.STORED, False), tried=[(True, "service")], result="release"
        ),
        [LACKS],
    ),
    (
        lambda: wrong_requirements(("a", False), tried=[(True, "service")]),
        ["a release needs a, which it lacks"],
    ),
    (lambda: wrong_requirements((_document.REFERENCE, True), (_document.LISTED, True)), []),
    (
        lambda: wrong_requirements((_document.REFERENCE, True), ("a", True), why="odd"),
        ["reference contradicts reference models"],
    ),
    (
        lambda: wrong_requirements((_document.LISTED, True), ("a", True), why="odd"),
        ["checks contradict all training rows"],
    ),
]

# -- results, permutations, names and curves


def result(metric="auc", max_fpr=nan, estimate=0.5, **given):
    usual = {"attack": "a", "scope": "overall", "group": "all", "metric": metric}
    usual |= {"max_fpr": max_fpr, "estimate": estimate, "low": estimate, "high": estimate}
    usual |= {"fpr": 0.1 if metric == "tpr" else nan, "fpr_low": nan, "fpr_high": nan}
    usual |= {"n_members": 5, "n_nonmembers": 6, "status": "ok", "told": False}
    return usual | given


def results(**of):
    """Return the three numbers of an attack, of which some are changed by the metric."""
    rows = {"auc": result(), "advantage": result("advantage"), "tpr": result("tpr", 0.01)}
    return [rows[name] | of.get(name, {}) for name in rows]


def wrong_results(rows=None, fprs=(0.01,), is_stopped=False, n_records=11, **of):
    rows = results(**of) if rows is None else rows
    document = {"data": {"n_members": 5, "n_nonmembers": 6, "n_records": n_records}}
    document |= {"settings": {"fprs": fprs}, "checks": []}
    frame = _document._read_frame(rows, list(_document.COLUMNS), _document.COLUMNS[4:11])
    with mock.patch.multiple(
        _document, read_checks=lambda checks: checks, is_stopped=lambda checks: is_stopped
    ):
        return [*_document._list_wrong_results(document, frame)]


NO_NUMBER = {"estimate": nan, "low": nan, "high": nan, "status": "too few records"}
NO_RATE = NO_NUMBER | {"fpr": nan}
EMPTY = "results must have numbers unless the model does not know the table, and only then"
RESULTS = [
    (lambda: wrong_results(), []),
    (lambda: wrong_results([]), [EMPTY]),
    (lambda: wrong_results([], is_stopped=True), []),
    (lambda: wrong_results(is_stopped=True), [EMPTY]),
    (
        lambda: wrong_results(n_records=12),
        ["data.n_members and data.n_nonmembers do not add up to data.n_records"],
    ),
    (lambda: wrong_results(tpr=NO_RATE, auc=NO_NUMBER), []),
    (
        lambda: wrong_results(advantage={"status": "too few records"})[0],
        "results[1] has another status than its estimate",
    ),
    (
        lambda: wrong_results(auc=NO_NUMBER | {"status": "ok"}),
        ["results[0] has another status than its estimate"],
    ),
    (
        lambda: wrong_results(auc=NO_NUMBER | {"high": 0.5}),
        ["results[0] has limits without an estimate"],
    ),
    (lambda: wrong_results(auc={"low": 0.4, "high": 0.4}), []),
    (
        lambda: wrong_results(auc={"low": 0.5, "high": 0.4}),
        ["results[0] has a lower limit above its upper one"],
    ),
    (
        lambda: wrong_results(auc={"max_fpr": 0.01})[0],
        "results[0] must have max_fpr if it is a TPR, and only then",
    ),
    (
        lambda: wrong_results(tpr={"fpr": nan}),
        ["results[2] must have fpr if it is a TPR, and only then"],
    ),
    (
        lambda: wrong_results(tpr=NO_RATE | {"fpr": 0.1}),
        ["results[2] must have fpr if it is a TPR, and only then"],
    ),
    (
        lambda: wrong_results(auc={"fpr": 0.1}),
        ["results[0] must have fpr if it is a TPR, and only then"],
    ),
    (lambda: wrong_results(advantage={"estimate": -0.5}, auc={"estimate": 0.0}), []),
    (
        lambda: wrong_results(auc={"estimate": -0.5}),
        ["results[0] is below 0 and not an advantage"],
    ),
    (
        lambda: wrong_results([*results(), result()]),
        ["results[3] is there twice"],
    ),
    # One number of each kind is told, of whatever attack.
    (lambda: wrong_results(auc={"told": True}, tpr={"told": True}), []),
    (
        lambda: wrong_results(
            [*results(auc={"told": True}), *(one | {"attack": "b"} for one in results())]
        ),
        [],
    ),
    (
        lambda: wrong_results(
            [
                *results(auc={"told": True}),
                *(one | {"attack": "b"} for one in results(auc={"told": True})),
            ]
        ),
        ["results[0] is told beside another one, or without an estimate"],
    ),
    (
        lambda: wrong_results(auc=NO_NUMBER | {"told": True}),
        ["results[0] is told beside another one, or without an estimate"],
    ),
    (
        lambda: wrong_results(auc={"n_members": 6}),
        ["results[0] has more records than there are"],
    ),
    (
        lambda: wrong_results(tpr={"n_nonmembers": 7}),
        ["results[2] has more records than there are"],
    ),
    (
        lambda: wrong_results(fprs=[0.01, 0.1]),
        ["results has other numbers of a, overall, all than settings.fprs"],
    ),
    (
        lambda: wrong_results(results()[1:]),
        ["results has other numbers of a, overall, all than settings.fprs"],
    ),
]


def number_of(metric="auc", max_fpr=nan, **given):
    usual = {"attack": "a", "scope": "overall", "group": "all", "metric": metric}
    usual |= {"max_fpr": max_fpr, "pvalue": 0.5, "pvalue_adjusted": 0.5}
    return usual | {"pvalue_below": 0.5 if metric == "auc" else nan} | given


def wrong_permutation(*rows, is_error=False, **of):
    frame = _document._read_frame(results(**of), list(_document.COLUMNS), _document.COLUMNS[4:11])
    columns = _document.PERMUTATION_COLUMNS
    null = _document._read_frame(rows, columns, columns[4:])
    grounds = Grounds(frame, null, 99, "checks", 0.95, ["a"])
    outcome = lambda checks, role: NS(is_error=is_error)  # noqa: E731
    with mock.patch.object(_document, "find_outcome", outcome):
        return [*_document._list_wrong_permutation(grounds)]


NONE_LEFT_OUT = {"n_records": 11}
LEFT_OUT = NONE_LEFT_OUT | {"unknown_classes": {"a": 2, "b": 1}}


def wrong_names(missing=(), n_checks=None, rows=None, asked="a", exposed=(), **given):
    rows = results() if rows is None else rows
    checks = {name: 1 for name in _document._list_always() if name not in missing}
    document = {"checks": [1] * (len(checks) if n_checks is None else n_checks)}
    document |= {"curves": [{"attack": "a"}], "data": {"n_records": 11}}
    document |= {"power": None, "disparity": {"attack": "a"}, "person_level": None}
    document["exposed"] = [{"attack": "a", "position": one} for one in exposed]
    frame = pd.DataFrame(rows)
    grounds = NS(checks=checks, results=frame, asked=asked)
    return [*_document._list_wrong_names(document | given, grounds)]


def curve(attack="a", fpr=(0.0, 0.5, 1.0), n=3):
    return {"attack": attack, "fpr": [*fpr], **dict.fromkeys(("tpr", "low", "high"), [0.5] * n)}


def wrong_curves(*curves, sizes=None):
    power = sizes and {"numbers": [{"n_shadows": one} for one in sizes]}
    return [*_document._list_wrong_curves({"curves": curves, "power": power})]


LACK = "names an attack that settings or results lack"
FEW = "permutation.numbers must have each AUC over all records once"
NUMBERS = [
    (lambda: wrong_permutation(number_of(), number_of("tpr", 0.01)), []),
    (lambda: wrong_permutation(), [FEW]),
    (lambda: wrong_permutation(is_error=True), []),
    (lambda: wrong_permutation(number_of("tpr", 0.01), is_error=True), [FEW]),
    (lambda: wrong_permutation(auc=NO_NUMBER), []),
    (lambda: wrong_permutation(number_of(), number_of()), [FEW]),
    (
        lambda: wrong_permutation(number_of(), number_of("tpr", 0.02)),
        ["permutation.numbers[1] is about a number not in results"],
    ),
    (
        lambda: wrong_permutation(number_of(pvalue_below=nan)),
        ["permutation.numbers[0] must have pvalue_below only for an AUC"],
    ),
    (
        lambda: wrong_permutation(number_of(), number_of("tpr", 0.01, pvalue_below=0.5)),
        ["permutation.numbers[1] must have pvalue_below only for an AUC"],
    ),
    (lambda: wrong_names(), []),
    (
        lambda: wrong_names([_document._list_always()[0]]),
        [f"checks lacks {_document._list_always()[0]}"],
    ),
    (lambda: wrong_names(n_checks=1), ["checks lacks nothing, but has one twice"]),
    (lambda: wrong_names(asked="b")[0], f"results {LACK}"),
    (lambda: wrong_names(rows=[one | {"scope": "sex"} for one in results()])[0], f"results {LACK}"),
    (lambda: wrong_names(rows=results()[1:])[0], f"results {LACK}"),
    (lambda: wrong_names(curves=[{"attack": "b"}]), [f"curves {LACK}"]),
    (lambda: wrong_names(power={"attack": "b"}), [f"power {LACK}"]),
    (lambda: wrong_names(disparity={"attack": "b"}), [f"disparity {LACK}"]),
    (lambda: wrong_names(person_level={"attack": "b"}), [f"person_level {LACK}"]),
    (lambda: wrong_names(exposed=[10]), []),
    (lambda: wrong_names(exposed=[3, 11]), ["exposed has the position 11, beyond all records"]),
    (
        lambda: wrong_names(exposed=[13, 14], data=LEFT_OUT),
        ["exposed has the position 14, beyond all records"],
    ),
    (lambda: wrong_curves(curve(), curve("b"), sizes=[8, 16]), []),
    (lambda: wrong_curves(curve(), curve()), ["curves must have each attack once"]),
    *(
        (
            lambda wrong=wrong: wrong_curves(curve("b"), wrong),
            ["curves[1] must have as many rates of each kind, in order"],
        )
        for wrong in (curve(n=2), curve(fpr=(0.5, 0.0, 1.0)), curve(fpr=(0.0, 0.0, 0.0)))
    ),
    (lambda: wrong_curves(sizes=[16, 8]), ["power.numbers must be in the order of n_shadows"]),
    (lambda: wrong_curves(sizes=[8, 8]), ["power.numbers must be in the order of n_shadows"]),
]

# -- files, and tables


def wrong_file(data=NONE_LEFT_OUT, **given):
    usual = {"n_records": 11, "reason": None, "results": [1], "permutation": {"a": 1}}
    usual |= {"exposed": [{"position": 10}], "obstacle": None, "expected_auc": 0.5}
    usual |= {"ledger": [{"part": "a"}]}
    document = {"file": usual | given, "data": data}
    parts = {
        "_list_wrong_results": lambda whole, results: [(whole, results)],
        "_list_wrong_permutation": lambda own: [own.results],
        "_list_wrong_curves": lambda whole: [whole],
    }
    with mock.patch.multiple(_document, **parts):
        told = [*_document._list_wrong_file(document, "whole", NS(results="own"))]
    inner = [("whole", "own"), "own", "whole"]
    assert [one for one in told if one in inner] in ([], inner)
    return [one for one in told if one not in inner], len(told) > 2


def table_row(pvalue=0.01, **given):
    usual = {"name": "a", "pvalue": pvalue, "pvalue_holm": pvalue, "leak": pvalue <= 0.05}
    return usual | given


def read_results(*rows, has_holdout=True, copies="copies"):
    document = {"results": rows, "copies": copies}
    with mock.patch.object(
        _document.tables, "correct", lambda names, pvalues: pvalues * len(names)
    ):
        call = lambda: _document._read_results(document, 0.95, has_holdout)  # noqa: E731
        return tell_refusal(call) or [*call().index]


def wrong_limits(**given):
    usual = {part: [] for part in ("results", "utility", "columns", "pairs")}
    return [*_document._list_wrong_limits(usual | given)]


def share(*rows):
    document = {"copies": [dict(zip(("name", COPY), row)) for row in rows] or None}
    call = lambda: _document._read_smallest_share(document)  # noqa: E731
    return tell_refusal(call) or call()


def table_grounds(shift=None, **given):
    """Return what is read of a table, of which one population is a check."""
    usual = {"name": "one population", "status": "passed", "text": "told", "interval": [0.1] * 3}
    data = {"n_real": 5, "n_synthetic": 6, "n_holdout": 7}
    document = {"settings": {"confidence_level": 0.95}, "data": data}
    document["checks"] = [
        {"name": "another"},
        {k: v for k, v in (usual | (shift or {})).items() if v},
    ]
    parts = {
        "_read_results": lambda document, level, has_holdout: (level, has_holdout),
        "_read_smallest_share": lambda document: 0.25,
    }
    with mock.patch.multiple(_document, **parts):
        call = lambda: tuple(_document._read_table_grounds(document | given))  # noqa: E731
        return tell_refusal(call) or call()


ROWS_OF_TABLE = {"real": 5, "synthetic": 6, "holdout": 7, "shared": 0}
COPY = "smallest_share_corrected"
FIRST = _document.tables.FIRST
COUNTS = {"alone": 1, "train": 2, "n_train": 2, "test": 3, "n_test": 3}
MORE = ["unchanged has more copies than rows"]
FILES = [
    (lambda: wrong_file(), ([], True)),
    (lambda: wrong_file(n_records=12)[0], ["file.n_records is not data.n_records"]),
    *(
        (
            lambda given=given: wrong_file(**given)[0],
            ["file must have results, or a reason why it has none"],
        )
        for given in ({"results": []}, {"permutation": None}, {"reason": "odd"})
    ),
    (lambda: wrong_file(reason="odd", results=[], permutation=None), ([], False)),
    (
        lambda: wrong_file(exposed=[{"position": 3}, {"position": 11}])[0],
        ["file.exposed has a position beyond all records"],
    ),
    (lambda: wrong_file(LEFT_OUT, exposed=[{"position": 13}])[0], []),
    (
        lambda: wrong_file(LEFT_OUT, exposed=[{"position": 14}])[0],
        ["file.exposed has a position beyond all records"],
    ),
    (
        lambda: wrong_file(ledger=[{"part": "a"}, {"part": None}])[0],
        ["file.obstacle is null, but file.ledger has numbers that no part reads"],
    ),
    (lambda: wrong_file(ledger=[{"part": None}], expected_auc=None, obstacle="odd")[0], []),
    *(
        (
            lambda given=given: wrong_file(**given)[0],
            ["file.obstacle is null, but file.expected_auc or file.ledger is missing"],
        )
        for given in ({"ledger": []}, {"expected_auc": None})
    ),
    # Numbers of tables need a holdout, p-values that follow and leaks by them.
    (lambda: read_results(table_row()), ["a"]),
    (lambda: read_results(table_row(0.05)), ["a"]),
    (
        lambda: read_results(
            table_row(0.04, pvalue_holm=0.08, leak=False), table_row(0.5, name="b", pvalue_holm=1.0)
        ),
        ["a", "b"],
    ),
    (lambda: read_results(has_holdout=False, copies=None), []),
    *(
        (
            lambda rows=rows, given=given: read_results(*rows, **given),
            "results and copies must be there with a holdout, and only then",
        )
        for rows, given in (
            ([], {}),
            ([table_row()], {"has_holdout": False, "copies": None}),
            ([table_row()], {"copies": None}),
            ([], {"has_holdout": False}),
        )
    ),
    (
        lambda: read_results(table_row(), table_row()),
        "results must have each number once",
    ),
    (
        lambda: read_results(table_row(pvalue_holm=0.02)),
        "pvalue_holm of results does not follow from pvalue",
    ),
    (
        lambda: read_results(table_row(leak=False)),
        "leak of results does not follow from pvalue_holm",
    ),
    (
        lambda: read_results(table_row(0.051, leak=True)),
        "leak of results does not follow from pvalue_holm",
    ),
    (lambda: wrong_limits(), []),
    (lambda: wrong_limits(unchanged=COUNTS), []),
    (lambda: wrong_limits(unchanged=dict.fromkeys(COUNTS)), []),
    *(
        (lambda given=given: wrong_limits(unchanged=COUNTS | given), MORE)
        for given in ({"alone": 3}, {"train": 3}, {"test": 4}, {"alone": None}, {"n_test": None})
    ),
    (
        lambda: wrong_limits(
            utility=[{"low": 1, "estimate": 1, "high": 1}, {"low": None, "estimate": 2, "high": 3}],
            pairs=[{"low": 1, "estimate": 2, "high": 3}, {"low": 2, "estimate": 1, "high": 3}],
        ),
        ["pairs[1] has an estimate outside of its limits"],
    ),
    *(
        (
            lambda part=part: wrong_limits(**{part: [{"low": 1, "estimate": 4, "high": 3}]}),
            [f"{part}[0] has an estimate outside of its limits"],
        )
        for part in ("results", "utility", "columns")
    ),
    (lambda: share(), inf),
    (lambda: share(("b", 0.5), (FIRST, 0.25)), 0.25),
    (lambda: share((FIRST, None)), inf),
    (lambda: share(("b", 0.5)), f"copies lacks {FIRST}"),
    (
        lambda: table_grounds(),
        ((0.95, True), ROWS_OF_TABLE, 0.95, 0.25, None, None, ("row", "rows")),
    ),
    (lambda: table_grounds(data={})[0], (0.95, False)),
    (lambda: table_grounds(data={"n_holdout": 7, "n_persons_shared": 3})[0], (0.95, False)),
    (lambda: table_grounds({"status": "warning"}, unchanged=3)[4:6], ("told", 3)),
    (lambda: table_grounds({"name": "b"}), "checks lacks one population, or its interval"),
    (lambda: table_grounds({"interval": None}), "checks lacks one population, or its interval"),
    (lambda: table_grounds({"interval": [0.1] * 2})[:15], "checks.interval"),
    (lambda: table_grounds({"interval": [0.1] * 4})[:15], "checks.interval"),
    (lambda: table_grounds(data={"n_holdout": -1})[:14], "data.n_holdout"),
]


def test_people_by_hand():
    expect_answers(PEOPLE)


def test_recommendations_by_hand():
    expect_answers(RECOMMENDATIONS)


def test_results_by_hand():
    expect_answers(RESULTS)


def test_permutations_names_and_curves_by_hand():
    expect_answers(NUMBERS)


def test_files_and_tables_by_hand():
    expect_answers(FILES)
