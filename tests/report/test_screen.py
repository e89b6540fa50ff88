"""What is told first takes one row of each route, with the rate that was measured."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skmia._core.levels import Level
from skmia._core.text import count_nouns, inflect_word, tell_condition, tell_percent
from skmia.cli._gate import list_findings
from skmia.cli._options import OptionError, parse_limit
from skmia.report._captions import RANKED, WHOLE, caption_counts
from skmia.report._evidence import (
    ReleaseRoute,
    choose_rate,
    count_of,
    find_unit,
    get_highest,
    make_grounds,
    measure_audit_level,
)
from skmia.report._measure import COLUMNS
from skmia.report._page import _describe_groups, _note_numbers, describe_picture
from skmia.report._screen import (
    MEANS,
    _list_untold,
    _make_headline,
    _tell_intervals,
    _tell_noise,
    _write_heading,
    find_lone_class,
    write_sentence,
)
from skmia.report._text import _list_trust, _tabulate_routes
from skmia.report.checks._model_and_table import NOISE, ModelAndTableCheck


def make_row(metric, estimate, low=None, high=None, **fields):
    """A number of the results."""
    low, high = (estimate if end is None else end for end in (low, high))
    row = dict.fromkeys(COLUMNS, np.nan) | {"attack": "a", "scope": "overall", "group": "all"}
    row |= {"metric": metric, "estimate": estimate, "low": low, "high": high, "status": "ok"}
    return row | {"n_members": 100, "n_nonmembers": 100} | fields


def make_route(way, level, auc, *rates, leaks=None, **fields):
    """A route of one attack: its AUC, and (TPR, measured FPR, upper end of it) at 20%."""
    rows = [make_row("auc", auc, auc - 0.05, auc + 0.05)]
    for tpr, fpr, fpr_high in rates:
        rows.append(make_row("tpr", tpr, 0.087, 0.22, max_fpr=0.2, fpr=fpr, fpr_high=fpr_high))
    return ReleaseRoute(way, Level(level, **fields), rows, leaks)


# A tree: its scores are tied, so far fewer others are mistaken than the 20 of 100 that may be.
FILE = make_route("file", "clear", 0.62, (0.14, 0.0, 0.0362))
SERVICE = make_route("service", "clear", 0.61, (0.12, 0.05, 0.113))


def tell(*routes):
    return write_sentence(list(routes), "leak", {}, None, "")


def test_the_sentence_tells_the_rate_that_was_measured():
    assert tell(FILE, SERVICE) == (
        "An attacker with the **model file** can recognize **14 of 100** training records "
        "**without mistaking anyone else for one** (0 of 100 others; at most 4). From the "
        "**answers** alone, it is 12 of 100, when 5 of 100 others are mistaken for one."
    )
    assert tell(SERVICE) == (
        "An attacker who gets the model's **answers** can recognize 12 of 100 training records, "
        "and mistakes 5 of 100 others for one."
    )


def test_a_ratio_is_of_the_rate_that_was_measured():
    grounds = make_grounds(pd.DataFrame(FILE.rows), None, {}, 0.95, ["a"])
    assert measure_audit_level(grounds, "leak").numbers["ratio"]["low"] == pytest.approx(
        0.087 / 0.0362
    )
    # Never the measured rate itself, which is 0 here, nor more than what was asked for.
    assert find_unit({"max_fpr": 0.01, "fpr": 0.01, "fpr_high": 0.013}) == 0.01
    assert find_unit({"max_fpr": 0.01, "fpr": None, "fpr_high": None}) == 0.01


def test_dots_curves_and_table_take_the_same_row():
    curve = {"attack": "a", "fpr": [0.0, 1.0], "tpr": [0.14, 1.0], "low": [0, 1], "high": [1, 1]}
    document = {"curves": [curve], "file": {"curves": [curve]}, "data": {"n_nonmembers": 100}}
    grids, curves, rate = describe_picture(document, [FILE, SERVICE])
    told = [(grid["number"], grid["filled"], grid["text"].split()[0]) for grid in grids]
    assert told == [
        ("14", 14, "members"),
        ("12", 12, "members"),
        ("0", 0, "others"),
        ("5", 5, "others"),
    ]
    assert [one["at"] for one in curves] == [(0.0, 0.14), (0.05, 0.12)] and rate == 0.2
    lines = "\n".join(_tabulate_routes([FILE, SERVICE], rate, 0.95))
    told = "when at most 20 of 100 others are mistaken for one (0 as a file and 5 as a service)"
    assert told in " ".join(lines.split())
    assert not re.search(r"\b20\b", lines.replace("at most 20", ""))


def test_others_that_are_as_many_in_both_routes_are_drawn_once():
    document = {"curves": [], "file": {"curves": []}, "data": {"n_nonmembers": 100}}
    grids, _, _ = describe_picture(document, [FILE, SERVICE._replace(rows=FILE.rows)])
    assert [grid["text"] for grid in grids][2:] == ["others mistaken for members, in both"]


@pytest.mark.parametrize("level", ["clear", "severe"])
def test_nobody_is_recognized_where_more_others_are_mistaken(level):
    text = tell(make_route("service", level, 0.7, (0.14, 0.2, 0.29)))
    assert "None can be recognized with certainty: 14 of 100 members, and 20 of 100 others" in text
    assert "can recognize" not in text and "recognizes" not in text


@pytest.mark.parametrize("tpr, fpr", [(0.01, 0.02), (0.02, 0.02), (0.021, 0.02)])
def test_only_what_is_more_than_chance_is_called_so(tpr, fpr):
    key = ("a", "overall", "all", "auc", None)
    route = make_route("service", "slight", 0.53, (tpr, fpr, 0.07), leaks=frozenset({key}))
    text = tell(route)
    assert "recognizes" not in text
    assert "53 of 100 times. This is more than chance" in text


def test_a_rate_that_is_not_beyond_chance_is_not_told_as_more():
    auc = frozenset({("a", "overall", "all", "auc", None)})
    tpr = frozenset({("a", "overall", "all", "tpr", 0.2)})
    route = make_route("service", "slight", 0.53, (0.25, 0.2, 0.29))
    assert "recognizes" not in tell(route._replace(leaks=auc))
    assert "recognizes **25** of 100" in tell(route._replace(leaks=tpr))


def add_group(route, group, level, auc, **fields):
    """The same route with a group, and its AUC."""
    listed = {"scope": "sex", "group": group, "name": level, "at_least": False, "numbers": {}}
    row = make_row("auc", auc, auc - 0.01, auc + 0.01, scope="sex", group=group, **fields)
    level = route.level.change(groups=(*route.level.groups, listed))
    return route._replace(level=level, rows=[*route.rows, row])


def test_the_group_that_leaks_is_named_where_the_whole_does_not():
    whole = make_route("service", "slight", 0.51, (0.2, 0.2, 0.29), overall=False)
    service = add_group(add_group(whole, "f", "slight", 0.64), "m", "none", 0.9)
    assert "**sex: f**" in tell(service) and "64 of 100 times" in tell(service)
    assert tell(FILE, service).endswith(
        "From the **answers** alone, only **sex: f** is beyond chance. As a service, it is slight "
        "for **sex: f**."
    )
    lines = _tabulate_routes([service], 0.2, 0.95)
    assert lines[2].split()[-2:] == ["none", "shown"] and lines[3].split()[-1] == "slight"


def list_cells(routes):
    document = {"disparity": None, "data": {"n_members": 100, "n_nonmembers": 100}}
    found = _describe_groups(document, routes)
    return found, {row["name"]: row["cells"][0] for row in found["rows"]}


def test_a_group_with_too_few_others_has_a_dash_in_the_unit_of_the_table():
    route = add_group(add_group(FILE, "f", "clear", 0.7), "m", "none", 1.0)
    few = make_row("tpr", 0.5, 0.4, 0.6, scope="sex", group="f", max_fpr=0.2, fpr=0.2, fpr_high=0.3)
    found, cells = list_cells([route._replace(rows=[*route.rows, few])])
    assert found["caption"].startswith("Members recognized of 100, when at most 20 of 100 others")
    assert cells["All records"]["number"] == "14" and cells["sex: f"]["number"] == "50"
    assert cells["sex: m"]["number"] is None
    assert found["lead"] == "Members of sex: f are exposed most: 50 of 100 with the file."


def test_page_and_text_have_one_caption_of_their_counts():
    few = make_row("tpr", 0.5, 0.4, 0.6, scope="sex", group="f", max_fpr=0.2, fpr=0.2, fpr_high=0.3)
    route = add_group(FILE, "f", "clear", 0.7)
    for rows in (route.rows, [*route.rows, few]):
        routes = [route._replace(rows=rows)]
        lines = _tabulate_routes(routes, 0.2, 0.95)
        caption = caption_counts(routes, 0.2, [WHOLE, ("sex", "f")])
        assert f"{caption}; brackets: 95% intervals of each number alone." in " ".join(
            " ".join(lines).split()
        )
        shown = list_cells(routes)[0]["caption"]
        assert shown == (caption if few in rows else RANKED)


def test_a_group_in_which_nothing_is_shown_is_not_exposed_most():
    found, cells = list_cells([add_group(add_group(FILE, "f", "slight", 0.7), "m", "none", 1.0)])
    # Without any count by group, all of them have an AUC, which is no number of people.
    assert found["caption"].startswith("How often") and cells["sex: m"]["number"] == "1.000"
    assert found["lead"] == "Members of sex: f are exposed most: AUC 0.700 with the file."


def test_without_a_rate_nothing_is_counted():
    document = {"curves": [], "file": None, "data": {"n_nonmembers": 9}}
    grids, _, rate = describe_picture(document, [make_route("service", "clear", 0.91)])
    assert rate is None and [(grid["number"], grid["base"]) for grid in grids] == [("-", None)]
    assert grids[0]["text"].endswith("too few others")


def test_counts_do_not_round_to_all_or_nobody():
    shares = (0.997, 1.0, 0.004, 0.005, 0.0051, 0.37, 0.0)
    assert [count_of(share, 100) for share in shares] == [
        "more than 99",
        "100",
        "fewer than 1",
        "fewer than 1",
        "1",
        "37",
        "0",
    ]
    assert "more than 99 of 100 times" in tell(make_route("service", "severe", 0.997))
    assert tell_condition(1 / 200, 100) == "when fewer than 1 of 100 others are mistaken for one"


def test_percents_do_not_round_to_all_or_nobody_and_nouns_agree_with_their_number():
    shares = (0.997, 1.0, 0.004, 0.37, 0.0)
    told = ["more than 99%", "100%", "less than 1%", "37%", "0%"]
    assert [tell_percent(share) for share in shares] == told
    assert [tell_percent(share, 1) for share in (0.99951, 0.0004)] == [
        "more than 99.9%",
        "less than 0.1%",
    ]
    assert [count_nouns(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert [inflect_word(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]


def test_what_is_not_beyond_chance_is_told_with_both_numbers():
    text = tell(make_route("service", "none", 0.5, (0.02, 0.02, 0.05)))
    assert "no more than chance explains: **2** of 100 training records, and at most 22" in text


@pytest.mark.parametrize(
    "tpr, high, told",
    [(0.02, 0.0512, "**2** of 100 training records, and at most 5, when"), (0.0, 0.003, "most 1,")],
)
def test_what_is_at_most_recognized_is_a_whole_number(tpr, high, told):
    route = make_route("service", "none", 0.5)
    rate = make_row("tpr", tpr, 0.0, high, max_fpr=0.02, fpr=0.02, fpr_high=0.04)
    assert told in tell(route._replace(rows=[*route.rows, rate]))


def test_members_among_those_who_are_recognized_are_not_rounded_to_all():
    row = make_row("tpr", 0.9, 0.88, 0.92, max_fpr=0.002, fpr=0.002, fpr_high=0.002)
    route = make_route("service", "severe", 0.9)
    document = {"settings": {"confidence_level": 0.95}, "file": None, "permutation": None}
    routes = [route._replace(rows=[*route.rows, row])]
    notes = " ".join(_note_numbers(document, routes, routes, 0.002))
    assert "more than 99 are members if half of all candidates are; if one in ten is, 98." in notes


def test_an_interval_above_chance_where_nothing_is_shown_is_named():
    whole = make_route("service", "slight", 0.6, leaks=frozenset())
    route = add_group(add_group(whole, "f", "none", 0.6), "m", "slight", 0.7)
    told = _tell_intervals([route])
    assert told.startswith(
        "Each interval holds for one number alone. In sex: f one lies above chance"
    )
    assert _tell_intervals([add_group(whole, "m", "slight", 0.7)]) == ""
    both = _tell_intervals([route, route._replace(way="file")])
    assert "In sex: f (service) and sex: f (file) one lies" in both


def test_columns_of_the_table_do_not_touch():
    row = make_row("tpr", 1.0, 0.9921, 1.0, max_fpr=1e-4, fpr=0.0, fpr_high=1e-4)
    route = make_route("service", "severe", 1.0)
    line = _tabulate_routes([route._replace(rows=[*route.rows, row])], 1e-4, 0.95)[2]
    assert "10,000 [9,921, 10,000] 1.000 [" in line


@pytest.mark.parametrize("n, told", [(10, "Rates cannot"), (11, "below 91%"), (150, "below 6.7%")])
def test_rates_that_cannot_be_measured_have_no_exponent(n, told):
    result = SimpleNamespace(checks={}, data={"n_nonmembers": n}, results=pd.DataFrame({"a": [1]}))
    trust = {"line": "Yes.", "bad": []}
    assert told in " ".join(" ".join(_list_trust(result, trust)).split())


def test_a_side_of_one_class_is_named():
    counts = {"0": (40, 0), "1": (60, 100)}
    rows = [
        make_row("auc", 0.5, scope="class", group=name, n_members=n, n_nonmembers=m)
        for name, (n, m) in counts.items()
    ]
    route = make_route("service", "unknown", 0.6)
    assert find_lone_class([route]) is None
    route = route._replace(rows=[*route.rows, *rows])
    assert find_lone_class([route]) == "all non-members are of the class 1"
    assert find_lone_class([route._replace(rows=rows[1:])]) is None


def test_the_level_of_a_report_is_that_of_its_page(result):
    assert result.level == max(result.service.level, result.file.level)
    assert f"<h1>{result.level.heading}</h1>" in result.to_html()
    assert result.service.evidence == result.evidence and result.service.verdict == result.verdict
    routes = [
        ReleaseRoute("file", result.file.level, []),
        ReleaseRoute("service", result.service.level, []),
    ]
    assert get_highest(routes).level == result.level


@pytest.mark.parametrize("way", ["service", "file"])
@pytest.mark.parametrize("limit", ["none", "slight", "clear"])
def test_a_gate_takes_a_level(result, way, limit):
    findings = list_findings(result, [parse_limit(f"level={limit}")], way)
    found = {one.way: one for one in findings if one.name == f"level={limit}"}
    level = result.file.level if way == "file" else result.service.level
    assert found[way].code == (1 if level > limit else 0)
    assert not found[way].code or found[way].text == (
        f"the level is {level.word.lower()}, above {limit}"
    )


@pytest.mark.parametrize("text", ["level=severe", "level=sever", "level=0.5", "level.low=clear"])
def test_a_level_that_limits_nothing_is_refused(text):
    with pytest.raises(OptionError, match="must"):
        parse_limit(text)


def test_names_of_routes_are_those_of_the_page():
    assert set(MEANS) == {FILE.way, SERVICE.way} and choose_rate([FILE]) == 0.2


def make_two_rates(level, ratio=None, leaks=(), auc=0.53):
    """A route whose usual rate, 1%, shows nothing, with a leak at 10%."""
    rows = [
        make_row("auc", auc, auc - 0.05, auc + 0.05),
        make_row("tpr", 0.012, 0.004, 0.02, max_fpr=0.01, fpr=0.01, fpr_high=0.02),
        make_row("tpr", 0.6, 0.55, 0.65, max_fpr=0.1, fpr=0.1, fpr_high=0.11),
    ]
    numbers = {} if ratio is None else {"ratio": ratio}
    keys = frozenset(("a", "overall", "all", "tpr", rate) for rate in leaks)
    return ReleaseRoute("service", Level(level, numbers=numbers), rows, keys)


def test_a_slight_leak_is_told_and_drawn_at_a_rate_that_shows_it():
    route = make_two_rates("slight", leaks=(0.1,))
    assert choose_rate([route]) == 0.1
    assert "recognizes **60** of 100 training records, when 10 of 100 others" in tell(route)
    assert choose_rate([make_two_rates("slight", leaks=(0.01, 0.1))]) == 0.01
    ranked = route._replace(leaks=route.leaks | {("a", "overall", "all", "auc", None)})
    assert choose_rate([ranked]) == 0.01 and "53 of 100 times. This is more" in tell(ranked)


def test_a_clear_leak_is_told_at_the_rate_that_its_level_follows_from():
    ratio = {"low": 5.5, "estimate": 6.0, "attack": "a", "max_fpr": 0.1}
    route = make_two_rates("clear", ratio)
    assert choose_rate([route]) == 0.1 and "can recognize 60 of 100" in tell(route)
    assert choose_rate([make_two_rates("clear")]) == 0.01  # ranks alone give it
    route.level.numbers["auc"] = {"low": 0.61, "estimate": 0.65, "attack": "a", "max_fpr": None}
    assert choose_rate([route]) == 0.01


def test_a_leak_of_groups_alone_has_the_level_of_the_worst():
    rows = [make_row("auc", 0.51, 0.48, 0.54)]
    rows += [make_row("auc", 0.9, 0.88, 0.92, scope="sex", group=group) for group in "fm"]
    grounds = make_grounds(pd.DataFrame(rows), None, {}, 0.95, ["a"])
    null = pd.DataFrame(rows[1:2]).assign(pvalue_adjusted=0.001, pvalue_below=1.0)
    level = measure_audit_level(grounds._replace(null=null), "leak")
    assert level == "severe" and not level.overall
    route = ReleaseRoute("service", level, rows)
    assert _write_heading(route, {}) == "Severe leakage in a group"
    assert _make_headline(route, route, {}).where == "as a service; only for sex: f"
    assert tell(route).endswith("90 of 100 times: the leakage is severe.")


def test_the_heading_says_that_answers_are_noisy():
    check = ModelAndTableCheck()
    checks = {check.name: check.answer("warning", "Other answers.", NOISE)}
    assert _write_heading(SERVICE, checks) == "Clear leakage in noisy answers"
    assert _write_heading(FILE, checks) == "Clear leakage"
    assert _make_headline(SERVICE, FILE, checks).where == "as a service, in noisy answers"
    assert _tell_noise([FILE], checks) == ""
    sentence = _tell_noise([SERVICE], checks)
    statement = check.state(checks[check.name])
    assert statement in sentence and _list_untold([statement, "Another."], sentence) == ["Another."]
