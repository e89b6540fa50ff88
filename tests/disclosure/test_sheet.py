"""The decision sheet: what it says, that it prints on one page, and what may be recorded on it."""

import copy
import html
import re
import shutil
import subprocess
import time
from dataclasses import replace

import pytest
from cells import slow_but

from skmia.disclosure import (
    Measurement,
    StructuralCheck,
    load_policy,
    load_rules,
    recommend,
    record_decision,
    render_sheet,
)
from skmia.disclosure._sheet import describe_sheet
from skmia.disclosure._structural_checks import check_rules
from skmia.metrics import Interval

pytest.importorskip("jinja2")
POLICY = load_policy("cautious")
HOSTILE = "<img src=x onerror=alert(1)> & \u202eabc"
COMMAND = (
    "skmia audit --model model.joblib --train train.csv --heldout test.csv --target income "
    "--label-map '<=50K=0' '>50K=1' --group sex --release file --policy cautious --out full"
)
FLAGGED = {
    "smallest_leaf": "1,532 members are in a leaf of fewer than 10 training records; the smallest "
    "has 5.",
    "k": "14,000 groups of members with the same leaves; the smallest has 1, and 14,000 members "
    "are in one of fewer than 10.",
    "class_disclosure": "13,994 members are in a group in which some class has no member, so that "
    "the group rules it out.",
    "small_cells": "14,000 members are in a group in which fewer than 10 share a class that "
    "occurs; the fewest are 1.",
    "residual_dof": "14,000 members minus 19,044 parameters (sum over all trees) leave -5,044 "
    "degrees of freedom; fewer than 10 are flagged. The largest single tree has 205 parameters.",
    "rules": check_rules(load_rules("skmia"), [load_rules("skmia").rules[6]]).text,
}


def make_document(n_groups=5, auc=0.9, flagged=FLAGGED, group="sex=group {}", **provenance):
    """A document with what the sheet reads, of a recommendation with so many groups."""
    numbers = [Measurement("gap", Interval(0.075, 0.067, 0.082))]
    for place in range(n_groups + 1):
        name = "all" if not place else group.format(place)
        middle = auc - 0.01 * (place % 7)
        ends = {"auc": 0.01, "tpr_at_fpr_01": 0.03}
        numbers += [
            Measurement(key, Interval(middle, middle - end, middle + end), name, 2000)
            for key, end in ends.items()
        ]
    checks = [
        StructuralCheck(name, "both", "flagged", 1.0, 10, 3, text, "source")
        for name, text in flagged.items()
    ]
    checks += [
        StructuralCheck(name, "both", "passed", 20.0, 10, 0, "None were found.", "source")
        for name in POLICY.structure["file"]
        if name not in flagged
    ]
    hashes = {f"sha256 of {name}": "7a" * 32 for name in ("model.joblib", "train.csv", "test.csv")}
    given = {"command": COMMAND, "versions": "skmia 0.1.0, numpy 2.4.6", **hashes} | provenance
    spoken = {"reference models": None, "stored numbers": None}
    found = recommend(POLICY, "file", numbers, checks, provenance=given, spoken=spoken)
    return {
        "recommendation": found.to_dict(),
        "created": "2026-11-23T10:00:00+00:00",
        "settings": {"command": {"model": "model.joblib"}},
        "victim_name": "XGBClassifier",
    }


@pytest.mark.parametrize(
    "written, level",
    [
        ("alpha = 1e-2", "99%"),
        ("alpha=0.1", "90%"),
        ("alpha  = +0.1  # of ten", "90%"),
        ("", "95%"),
        (0.2, "80%"),
    ],
)
def test_the_level_of_intervals_is_the_one_of_the_policy(written, level, tmp_path):
    if isinstance(written, str):
        path = tmp_path / "own.toml"
        path.write_text(re.sub("^alpha = .*$", written, POLICY.text, flags=re.M))
        policy = load_policy(path)
    else:
        policy = replace(POLICY, alpha=written)
    found = recommend(policy, "service", [Measurement("auc", Interval(0.52, 0.49, 0.55))])
    document = make_document() | {"recommendation": found.to_dict()}
    assert describe_sheet(document)["level"] == level


def read_text(page):
    """What a reader sees of a page, apart from code, on one line."""
    body = page.partition("<body>")[2]
    body = re.sub(r"<code>.*?</code>", "", body, flags=re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_it_says_what_is_recommended_and_why():
    text = read_text(render_sheet(make_document()))
    assert "Recommendation: do not release By the policy cautious . Of 13 numbers, 13 are" in text
    assert "1 check blocks the release. Before a release, 4 checks need a reason." in text
    assert "model.joblib , as a file · audited 23 November 2026" in text
    assert "when at most 1 of 100 others is mistaken for one; limit 5 " in text
    assert "AUC; 0.5 is guessing); limit 0.6 " in text
    assert "sex: group 3 87 84 to 90 above the limit 0.870 0.860 to 0.880 above the limit" in text
    assert "0.075 0.067 to 0.082 above the limit less confidence on records" in text
    assert text.index("Small leaves") < text.index("Groups that stand alone")
    assert "Why acceptable: which columns an outsider knows" in text
    assert "The largest single tree" not in text  # which is in the report


def test_flagged_settings_have_plain_names_and_a_sentence_each():
    text = read_text(render_sheet(make_document()))
    for told in (
        "Levels of a tree (max_depth), more than 3: deep trees end in leaves of few records.",
        "Trees (n_estimators), more than 35: each further tree reveals more about the records.",
        "Features of a split (max_features), all of them: ",
        "A sample for each tree (bootstrap), true: ",
    ):
        assert told in text
    assert "forest 2" not in text and "..." not in text


def test_each_number_and_limit_stands_there_once():
    text = read_text(render_sheet(make_document()))
    for number in ("limit 5", "limit 0.6", "limit 0.05", "0.860 to 0.880", "1,532", "19,044"):
        assert text.count(number) == 1, number


def test_each_check_says_why_it_matters_before_what_it_found():
    text = read_text(render_sheet(make_document()))
    assert "holds few training records describes these people. 1,532 members are in a leaf" in text
    assert "has room to memorize each record. 14,000 members minus 19,044 parameters" in text


def test_what_is_not_in_its_place_elsewhere_is_listed_below():
    document = make_document(2, recipients="partners", seed="7", remark="x" * 400)
    sheet = describe_sheet(document)
    names = ["model.joblib", "train.csv", "test.csv"]
    assert sheet["hashes"] == [
        *((f"sha256 of {name}", "7a" * 32) for name in names),
        ("sha256 of the policy", POLICY.sha256),
    ]
    assert [name for name, _ in sheet["rest"]] == ["seed", "remark"]
    assert sheet["rest"][0][1] == "7" and len(sheet["rest"][1][1]) <= 330
    assert (sheet["command"], sheet["versions"]) == (COMMAND, "skmia 0.1.0, numpy 2.4.6")
    assert sheet["request"]["recipients"] == "partners" and sheet["request"]["purpose"] == ""
    assert sheet["told"][-1] == "A release as a service or a table was not examined."
    assert [decision for decision in sheet["decisions"] if decision[1]] == []
    assert {row["name"] for row in sheet["signatures"]} == {""}
    # What prevents a release comes first, then what needs a reason, what passed, and the rest.
    checks = document["recommendation"]["checks"]
    checks[-1] |= {"status": "fail", "level": "note"}
    kinds = [check["kind"] for check in describe_sheet(document)["checks"]]
    assert kinds == sorted(kinds, key=["bad", "ask", "ok", "info"].index)
    assert len({*kinds}) == 4 and len(kinds) == len(checks)
    document["recommendation"]["policy"]["sha256"] = ""
    told = ("sha256 of the policy", "none: the policy was changed")
    assert describe_sheet(document)["hashes"][-1] == told


def test_each_file_is_named_by_its_hash_once():
    page = render_sheet(make_document())
    assert page.count("7a" * 32) == 3
    for name in ("model.joblib", "train.csv", "test.csv"):
        assert page.count(f"sha256 of {name}") == 1


def test_no_name_of_a_program_is_to_be_seen():
    text = read_text(render_sheet(make_document()))
    names = [*POLICY.structure["file"], *POLICY.limits["file"]]
    spelled = {name for name in names if "_" in name} | {"(all)"}
    assert not {name for name in spelled if name in text}
    assert not re.search(r"\bk\b", text)


def test_of_many_groups_the_worst_are_shown():
    document = make_document(20, auc=0.62)
    text = read_text(render_sheet(document))
    assert text.count("sex: group") == 8
    assert "12 more, in the report" in text
    # Those nearest to, or above, their limits: 0.62 - 0.01 * (place % 7).
    assert {int(place) for place in re.findall(r"sex: group (\d+)", text)} >= {7, 14, 1, 8, 15}
    assert "more, in the report" not in read_text(render_sheet(make_document(8)))


def test_what_is_not_judged_says_why():
    document = make_document(2, auc=0.6)
    limits = document["recommendation"]["limits"]
    assert {row["status"] for row in limits} >= {"undecided"}
    limits.append(
        {"name": "auc", "group": "sex=few", "limit": 0.6, "interval": None, "status": "not judged"}
    )
    text = read_text(render_sheet(document))
    assert "0.590 to 0.610, the limit lies within the interval" in text
    assert "sex: few not measured, or of too few records" in text


def test_a_single_number_is_corrected_for_no_other():
    document = make_document(0)
    kept = [row for row in document["recommendation"]["limits"] if row["name"] == "auc"]
    text = read_text(render_sheet(document))
    assert "the lower end of the interval is, corrected for all 3 numbers. Intervals: " in text
    document["recommendation"]["limits"] = kept
    assert "the lower end of the interval is. Intervals: " in read_text(render_sheet(document))


def test_a_table_has_its_risks_each_in_a_line():
    names = "singling_out", "linkability", "inference", "privacy_loss", "exact_rare_copies"
    numbers = [Measurement(name, Interval(0.3, 0.2, 0.4)) for name in names]
    document = make_document()
    document["recommendation"] = recommend(POLICY, "table", numbers).to_dict()
    document["settings"] = {"command": {"synthetic": "made.csv"}}
    text = read_text(render_sheet(document))
    assert "made.csv , as a table" in text and "The table 0.300 0.200 to 0.400" in text
    assert "attempts to single out a person" in text and "limit 0.09" in text
    assert "structure of the model" not in text
    assert "the lower end of the interval is, corrected for all 5 numbers." in text
    document["recommendation"] = recommend(POLICY, "table", numbers[:1]).to_dict()
    assert "the lower end of the interval is. Intervals" in read_text(render_sheet(document))


def test_it_runs_nothing_and_sends_nothing():
    document = make_document(2, group=HOSTILE + "={}", purpose=HOSTILE)
    document["settings"]["command"]["model"] = HOSTILE
    document["recommendation"]["policy"]["name"] = HOSTILE
    page = html.unescape(render_sheet(document).partition("</head>")[0])
    assert "form-action 'none'" in page and "script-src" not in page
    page = render_sheet(document)
    assert "<img" not in page and "\u202e" not in page and page.count("&lt;img") >= 4
    assert "<script" not in page and " style=" not in page and "://" not in page
    assert "<form" not in page and "onerror=" not in page.replace("onerror=alert(1)&gt;", "")
    assert len(page.encode()) < 40_000


def test_what_is_known_is_filled_in():
    known = {"recipients": "partners", "public columns": "sex", "recipe of the model": "J. Doe"}
    page = render_sheet(make_document(**known))
    assert '<textarea id="whom" rows="1">partners</textarea>' in page
    assert '<textarea id="public" rows="1">sex</textarea>' in page
    assert '<textarea id="purpose" rows="1"></textarea>' in page
    assert "recipe of the model : J. Doe" in read_text(page)


def decide(document, **given):
    named = {"decision": "refuse", "name": "A. Smith", "role": "checker", "day": "2026-11-24"}
    typed = {"conditions": "", "because": "", "reasons": {}, "provenance": {}, "replace": False}
    for name in typed:
        typed[name] = given.pop(name, typed[name])
    return record_decision(document, **named | given, given=typed)


REASONS = dict.fromkeys(("k", "class_disclosure", "small_cells", "residual_dof"), "no one can see")
WHY = "a contract binds all recipients"


def test_a_decision_stands_on_the_sheet():
    document = make_document()
    before = copy.deepcopy(document)
    given = {"because": WHY, "reasons": REASONS, "conditions": "until May"}
    decided = decide(document, decision="release with conditions", **given)
    assert document == before
    found = decided["recommendation"]
    assert found["decision"] == {
        "decision": "release with conditions",
        "conditions": "until May",
        "because": WHY,
    }
    page = render_sheet(decided)
    assert 'value="release with conditions" checked' in page
    assert page.count("checked") == 1
    assert page.count(">no one can see</textarea>") == 4 and f">{WHY}</textarea>" in page
    assert 'aria-label="checker: name" value="A. Smith"' in page
    second = decide(decided, decision=None, name="B. Jones", role="second checker")
    page = render_sheet(second)
    assert 'value="A. Smith"' in page and 'value="B. Jones"' in page and f">{WHY}</" in page
    other = decide(second, name="C. Brown", replace=True)
    assert other["recommendation"]["decision"]["decision"] == "refuse"
    assert 'value="B. Jones"' not in render_sheet(other)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decision": "perhaps"}, "decision must be one of 'release'"),
        ({"decision": None}, "name it with --decision, as release, conditions or refuse"),
        ({"decision": "release"}, "so 'release' needs a reason .--because.: 3 or more"),
        ({"decision": "release", "because": "ok"}, "3 or more words; got 'ok'"),
        ({"decision": "release", "because": "a " * 200}, "at most 240 characters; got 400"),
        ({"decision": "release", "because": WHY}, "these checks need a reason: k, class_discl"),
        (
            {"decision": "release with conditions", "because": WHY},
            "conditions needs them .--conditions.: a t",
        ),
        ({"decision": "release", "because": WHY}, r"small_cells, .* \(--reason k=\.\.\.\)"),
        ({"conditions": "until May"}, "Conditions go with 'release with conditions', not with"),
        ({"reasons": {"auc": WHY}}, "No reason is needed for 'auc'; checks that need one: k,"),
        ({"reasons": {"k": "fine"}}, "A good reason for k says which columns an outsider knows"),
        ({"decision": "release", "because": "a b"}, "3 or more words; got 'a b'"),
        ({"decision": "release", "because": "a b " + "c" * 237}, "at most 240 characters; got 241"),
        ({"name": " - "}, "name of the checker must have 2 to 80 characters; got '-'"),
        ({"name": "A 1"}, "name of the checker must have 2 to 80 characters; got 'A 1'"),
        ({"name": "A" * 81}, "name of the checker must have 2 to 80 characters; got 'AAA"),
        ({"day": "yesterday"}, "must be written as 2026-11-23; got 'yesterday'"),
        ({"day": "2026-11-22"}, "The date 2026-11-22 is before the audit, which is of 2026-11-23"),
    ],
)
def test_what_makes_no_sense_is_not_recorded(given, message):
    with pytest.raises(ValueError, match=message):
        decide(make_document(), **given)


def test_no_reason_is_taken_where_none_is_needed():
    document = make_document(2, auc=0.5, flagged={})
    with pytest.raises(ValueError, match="No reason is needed for 'k'; checks that need one: none"):
        decide(document, because=WHY, reasons={"k": WHY})


def test_a_signature_is_replaced_by_that_of_somebody_else_only_if_it_is_said():
    signed = decide(make_document())
    with pytest.raises(ValueError, match="A. Smith has signed as the checker; to replace the"):
        decide(signed, name="B. Jones")
    again = decide(signed, name="a. smith", day="2026-11-25")["recommendation"]["signatures"]
    assert [row["date"] for row in again if row["name"]] == ["2026-11-25"]
    other = decide(signed, name="B. Jones", replace=True)["recommendation"]["signatures"]
    assert [row["name"] for row in other if row["name"]] == ["B. Jones"]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("conditions", "for ever"),
        ("because", "a policy of the house"),
        ("reasons", {"k": "no one asks for it"}),
        ("provenance", {"purpose": "research"}),
    ],
)
def test_a_text_that_others_have_signed_is_changed_only_if_it_is_said(name, other):
    texts = {"because": WHY, "conditions": "until May", "reasons": REASONS}
    signed = decide(
        make_document(purpose="a study"),
        decision="release with conditions",
        provenance={"recipients": "partners"},
        **texts,
    )
    assert signed["recommendation"]["provenance"]["recipients"] == "partners"
    second = {"decision": None, "name": "B. Jones", "role": "second checker"}
    changed = next(iter(other)) if isinstance(other, dict) else name
    with pytest.raises(ValueError, match=rf"A\. Smith has signed another text for '{changed}'; to"):
        decide(signed, **second, **{name: other})
    for same in (decide(signed, **second, **texts), decide(signed, **second)):
        assert [row["name"] for row in same["recommendation"]["signatures"]][1:] == [
            "A. Smith",
            "B. Jones",
        ]
    replaced = decide(signed, **second, **{name: other}, replace=True)["recommendation"]
    assert [row["name"] for row in replaced["signatures"]] == ["", "", "B. Jones"]
    assert (other if isinstance(other, str) else other[changed]) in str(replaced)
    own = decide(signed, decision=None, **{name: other})["recommendation"]  # who signed it
    assert [row["name"] for row in own["signatures"]] == ["", "A. Smith", ""]


@pytest.fixture
def honolulu(monkeypatch):
    """The local time of Honolulu."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system has no time zone that can be set")
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "HST10")
        time.tzset()
        yield
    time.tzset()


def test_an_audit_can_be_decided_on_its_own_day_in_each_time_zone(honolulu):
    # The early morning in Greenwich is the day before in Honolulu.
    early = make_document() | {"created": "2026-11-24T03:00:00+00:00"}
    with pytest.raises(ValueError, match="2026-11-22 is before the audit, .* of 2026-11-23"):
        decide(early, day="2026-11-22")
    signed = decide(early, day="2026-11-23")["recommendation"]["signatures"]
    assert "2026-11-23" in [row["date"] for row in signed]


@pytest.mark.parametrize("name", ["Al", "A" * 80])
@pytest.mark.parametrize("because", ["a b c", "a b " + "c" * 236])
def test_the_shortest_and_the_longest_texts_are_recorded(name, because):
    document = decide(make_document(), name=name, because=because, day="2026-11-23")
    recorded = document["recommendation"]
    assert recorded["decision"]["because"] == because
    assert name in [row["name"] for row in recorded["signatures"]]


def test_one_person_signs_once_and_a_decision_is_not_overwritten():
    decided = decide(make_document())
    with pytest.raises(ValueError, match=r"A\. Smith is the checker; the researcher must be anot"):
        decide(decided, decision=None, role="researcher")
    with pytest.raises(ValueError, match="'refuse' is recorded already; to replace it"):
        decide(decided, decision="release", because=WHY, reasons=REASONS)
    # The same name as other systems store it.
    decided = decide(make_document(), name="Jos\xe9 Arias")
    with pytest.raises(ValueError, match="is the checker; the researcher must be another person"):
        decide(decided, decision=None, role="researcher", name="JOSE\u0301 ARIAS")


def test_a_release_as_recommended_needs_no_reason_why():
    document = make_document(2, auc=0.5, flagged={})
    for row in document["recommendation"]["limits"]:
        row["status"] = "pass"
    document["recommendation"]["result"] = "release"
    decided = decide(document, decision="release")
    assert decided["recommendation"]["decision"]["decision"] == "release"
    with pytest.raises(ValueError, match="The policy says 'release', so 'refuse' needs a reason"):
        decide(document)


TYPED = "{:02d} A text of eighty characters, as people type it into the lines of such sheets."


@pytest.fixture(scope="module")
def tabs():
    """Pages that are open, by their settings; to open one costs more than to ask all of it."""
    return {}


@pytest.fixture
def open_sheet(browser, tabs, tmp_path):
    path = tmp_path / "decision.html"

    def open_sheet(document, viewport=None, **settings):
        path.write_text(render_sheet(document), encoding="utf-8")
        if (page := tabs.get(str(settings))) is None:
            page = tabs[str(settings)] = browser.new_page(**settings)
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("request", lambda request: page.requests.append(request.url))
        page.complaints, page.requests = [], []
        page.emulate_media(media="null", color_scheme="null")
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.goto(path.as_uri())
        return page

    return open_sheet


def print_text(page, path):
    """The text of each page of the PDF that the browser prints, without white space."""
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext (poppler) on this machine")
    page.pdf(path=path, prefer_css_page_size=True)
    told = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=True, timeout=60)
    return ["".join(part.split()) for part in told.stdout.decode().split("\f")[:-1]]


@pytest.mark.parametrize("n_groups", [pytest.param(2, marks=pytest.mark.slow), 20])
def test_it_is_one_sheet_of_paper_with_all_that_was_typed(open_sheet, n_groups, tmp_path):
    assert len(TYPED.format(0)) == 80
    page = open_sheet(make_document(n_groups), java_script_enabled=False)
    fields = page.locator("textarea").all()
    assert len(fields) == 11
    typed = [TYPED.format(place) for place in range(len(fields))]
    for field, text in zip(fields, typed, strict=True):
        field.fill(text)
    names = page.locator("input:not([type=radio])").all()
    for place, field in enumerate(names):
        field.fill(f"entry {place}")
    page.get_by_label("Refuse").check()
    (sheet,) = print_text(page, tmp_path / "sheet.pdf")
    for text in typed:
        assert "".join(text.split()) in sheet
    assert all(f"entry{place}" in sheet for place in range(len(names)))
    assert "7a7a7a" in sheet and "--policycautious" in sheet
    assert page.complaints == [] and len(page.requests) == 1


def test_recorded_texts_are_printed(open_sheet, tmp_path):
    text = TYPED.format(7)
    given = {"because": text, "reasons": dict.fromkeys(REASONS, text), "conditions": text}
    document = decide(make_document(20), decision="release with conditions", **given)
    (sheet,) = print_text(open_sheet(document), tmp_path / "sheet.pdf")
    assert sheet.count("".join(text.split())) == 6


def test_nothing_sticks_out(open_sheet):
    page = open_sheet(make_document(20))
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# Each sheet and each width once; slowly each sheet at each width.
@pytest.mark.parametrize(
    "is_decided, width",
    [
        (False, 390),
        (True, 1280),
        pytest.param(False, 1280, marks=pytest.mark.slow),
        pytest.param(True, 390, marks=pytest.mark.slow),
    ],
)
def test_a_checker_of_accessibility_finds_no_fault(open_sheet, is_decided, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    document = make_document(2)
    if is_decided:
        given = {"because": WHY, "reasons": REASONS, "conditions": "until May"}
        document = decide(make_document(20), decision="release with conditions", **given)
    page = open_sheet(document, bypass_csp=True, viewport={"width": width, "height": 800})
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_recommendation_and_the_decision_are_on_the_first_screen(open_sheet):
    page = open_sheet(make_document(20), viewport={"width": 1280, "height": 800})
    for selector in ("h1", ".rec", ".box"):
        box = page.locator(selector).bounding_box()
        assert box["y"] + box["height"] <= 800


def test_the_marks_of_checks_are_not_moved_out_of_the_paper(open_sheet):
    page = open_sheet(make_document(2))
    moved = page.locator(".checks th > span").evaluate_all(
        "all => all.map(one => getComputedStyle(one, '::before').textIndent)"
    )
    assert len(moved) == 7 and set(moved) == {"0px"}


COLORS = {"do not release", "release with conditions", "release", "cannot be said"}
PAIRS = ["h1", ".head p", ".rec p", ".rec .big", "label span", ".lim th", ".lim td b", "small"]
PAIRS += [".bad", ".ok", ".ask", ".info", ".lim td .quiet", "dt", "code", "a"]


# The lowest ratio of contrast of the first of each kind of text to the ground that it stands on.
LOWEST = """selectors => selectors.map(selector => {
    const one = document.querySelector(selector);
    const light = color => {
        const parts = color.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255);
        const linear = parts.map(
            part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
        );
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    let ground = one;
    const none = "rgba(0, 0, 0, 0)";
    while (getComputedStyle(ground).backgroundColor === none && ground.parentElement)
        ground = ground.parentElement;
    const back = getComputedStyle(ground).backgroundColor;
    const paper = back === none ? 1 : light(back);
    const marked = ["bad", "ok", "ask", "info"].includes(one.className);
    const ink = light(getComputedStyle(one, marked ? "::before" : null).color);
    return [(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), selector];
}).sort((one, other) => one[0] - other[0])[0]"""


@pytest.mark.parametrize("result", slow_but(sorted(COLORS), "cannot be said", "do not release"))
def test_contrast(open_sheet, result):
    document = make_document(2, auc=0.6)
    document["recommendation"]["result"] = result
    page = open_sheet(document)
    for media, color in (("screen", "light"), ("screen", "dark"), ("print", "light")):
        page.emulate_media(media=media, color_scheme=color)
        lowest = page.evaluate(LOWEST, PAIRS)
        assert lowest[0] >= 4.5, lowest
