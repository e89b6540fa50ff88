"""Each number that a page or a text shows is the one of its row, in ten small audits."""

import html
import json
import re
from typing import NamedTuple

import contradictions
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.cli._gate import list_findings
from skmia.cli._output import format_result
from skmia.report import AuditReport

N = 240


def draw(seed, n=N, **fields):
    """Features, labels with noise, membership."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return rng, X, y, rng.permutation(n) % 2 == 1


def fit(model, records, membership, **settings):
    members = records[membership]
    return model.fit(members.X, members.y), records, membership, {"fprs": (0.1,)} | settings


def make_ties():
    _, X, y, inside = draw(0, 200)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    return fit(tree, Records(X, y), inside, fprs=(0.2,))


def make_few():
    _, X, y, inside = draw(1, 40)
    return fit(DecisionTreeClassifier(random_state=0), Records(X, y), inside)


def make_groups():
    rng, X, y, inside = draw(2)
    sex = rng.choice(["f", "m", "x"], N, p=[0.6, 0.36, 0.04])
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    return fit(tree, Records(X, y, sex=sex), inside, group="sex", fprs=(0.1, 0.2))


def make_one_route():
    _, X, y, inside = draw(3)
    tree = DecisionTreeClassifier(random_state=0)
    return fit(tree, Records(X, y), inside, file=False)


def make_swapped():
    _, X, y, inside = draw(4)
    tree = DecisionTreeClassifier(random_state=0)
    return *fit(tree, Records(X, y), ~inside)[:2], inside, {"fprs": (0.1,)}


def make_noise():
    _, X, y, inside = draw(5)
    return fit(LogisticRegression(C=0.01), Records(X, y), inside)


def make_regression():
    rng, X, _, inside = draw(6)
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    return fit(tree, Records(X, X[:, 0] + rng.normal(size=N)), inside)


def make_people():
    rng, X, y, _ = draw(7)
    person = np.arange(N) // 3
    inside = (rng.permutation(N // 3) % 2 == 1)[person]
    tree = DecisionTreeClassifier(random_state=0)
    return fit(tree, Records(X, y, group_by=person), inside)


def make_no_verdict():
    _, X, y, inside = draw(8)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    return fit(tree, Records(X + 2 * inside[:, None], y), inside)


def make_copies():
    _, X, y, inside = draw(9)
    return fit(DecisionTreeClassifier(random_state=0), Records(X.round(), y), inside)


AUDITS = {name[5:]: make for name, make in list(globals().items()) if name.startswith("make_")}


# A tree that leaks tells what other trees that leak tell, and no verdict is one of a shift.
LIKE_ANOTHER = ("ties", "copies", "swapped")
PARAMS = [pytest.param(one, marks=[pytest.mark.slow] * (one in LIKE_ANOTHER)) for one in AUDITS]


@pytest.fixture(scope="module", params=PARAMS)
def told(request):
    model, records, membership, settings = AUDITS[request.param]()
    settings |= {"attacks": {"loss": ThresholdAttack(), "LiRA": LiRA()}, "shadows": 4}
    report = audit(model, records, membership, random_state=0, **settings)
    page = report.to_html()
    return Told(report, json.loads(report.to_json()), report.summary(), page, report.to_markdown())


class Told(NamedTuple):
    """An audit, and what is told of it."""

    report: AuditReport
    document: dict
    summary: str
    page: str
    markdown: str

    @property
    def body(self):
        return self.page[self.page.index("</style>") :]

    @property
    def sentence(self):
        return " ".join(self.summary.split("\n\n")[1].split())


def list_ways(document):
    ways = {"file": document["file"], "service": document}
    return {way: found for way, found in ways.items() if found}


def choose_usual_rate(ways):
    rates = {
        row["max_fpr"]
        for found in ways.values()
        for row in found["results"]
        if (row["metric"], row["scope"], row["status"]) == ("tpr", "overall", "ok")
    }
    return min(rates, default=None)


def get_strongest(found, metric, rate=None, scope="overall", group="all"):
    """The row of the attack that is told, by hand."""
    rows = [
        row
        for row in found["results"]
        if (row["scope"], row["group"], row["metric"], row["status"])
        == (scope, group, metric, "ok")
        and row["max_fpr"] in (None, rate)
        and row["told"]
    ]
    most = max((row["estimate"] for row in rows), default=None)
    rows = [row for row in rows if row["estimate"] == most]
    return min(rows, key=lambda row: row["fpr"] or 0, default=None)


def show_auc(row):
    return "{estimate:.3f} [{low:.3f}, {high:.3f}]".format(**row)


def get_word(level):
    if level["name"] in ("none", "unknown"):
        return {"none": "none shown", "unknown": "no verdict"}[level["name"]]
    return f"at least {level['name']}" if level["at_least"] else level["name"]


def test_each_line_of_the_terminal_is_its_row(told):
    ways, text = list_ways(told.document), told.summary
    rate = choose_usual_rate(ways)
    head = next((k for k, line in enumerate(text.split("\n")) if "ranks higher" in line), None)
    if head is None:
        assert told.report.level == "unknown"
        return
    way = None
    n_lines = 0
    for line in text.split("\n")[head + 1 :]:
        if line.startswith("  guessing"):
            break
        way = line[2:11].strip() or way
        name, shown = line[11:27].strip(), line[27:]
        found = ways[way]
        part = ("overall", "all")
        level = found["level"]
        if name != "all":
            part = tuple(name.split(" ", 1))
            level = next(g for g in level["groups"] if (g["scope"], g["group"]) == part)
        elif not level["overall"]:
            level = {"name": "none"}
        tpr = None if rate is None else get_strongest(found, "tpr", rate, *part)
        count = "-"
        if tpr is not None:
            count = "{:.0f} [{:.0f}, {:.0f}]".format(
                *(100 * tpr[k] for k in ("estimate", "low", "high"))
            )
        wanted = [count, show_auc(get_strongest(found, "auc", None, *part)), get_word(level)]
        assert re.sub(r"\[ +", "[", re.sub(r", +", ", ", " ".join(shown.split()))) == " ".join(
            wanted
        )
        n_lines += 1
    assert n_lines >= len(ways)


def test_nothing_contradicts_a_number_and_each_number_is_in_the_document(told):
    same = contradictions.Told(*told)
    assert contradictions.list_contradictions(same) == []
    assert contradictions.list_strange_numbers(same) == []


def test_the_sentence_is_of_the_rows_that_are_drawn(told):
    ways, text, report = list_ways(told.document), told.sentence, told.report
    rate = choose_usual_rate(ways)
    rows = [get_strongest(found, "tpr", rate) for found in ways.values()] if rate else []
    rows = [row for row in rows if row]
    pairs = {(f"{100 * row['estimate']:.0f}", f"{100 * row['fpr']:.0f}") for row in rows}
    for n, m in re.findall(r"recognizes? (\d+) of 100 .*?(?:mistakes|when) (\d+) of 100", text):
        assert (n, m) in pairs
    for n, m in re.findall(r"recognize (\d+) of 100 .*? without mistaking .*?\((0) of 100", text):
        assert (n, m) in pairs
    aucs = [get_strongest(one, "auc") for one in ways.values()]
    ranks = {f"{100 * row['estimate']:.0f}" for row in aucs if row}
    if report.evidence == "leak" and report.service.level.overall:
        for n in re.findall(r"non-member (?:more than )?(\d+) of 100", text):
            assert n in ranks | {"99"}


def test_dots_are_of_the_strongest_row(told):
    ways, body = list_ways(told.document), told.body
    rate = choose_usual_rate(ways)
    grids = re.findall(r'<p class="n">(.*?)</p><figcaption><p>(.*?)</p>', body)
    members = {way: number for number, way in grids if way.startswith("members")}
    for words, way in (("with the file", "file"), ("as a service", "service")):
        numbers = [number for text, number in members.items() if words in text]
        if not numbers:
            assert way not in ways or ways[way]["level"]["name"] == "unknown"
            continue
        row = None if rate is None else get_strongest(ways[way], "tpr", rate)
        count = "-" if row is None else f"{100 * row['estimate']:.0f} of 100"
        shown = re.sub(r"<[^>]+>", "", numbers[0])
        assert shown == count or (shown == "&lt; 1 of 100" and row["estimate"] < 0.005)
    shown = [re.sub(r"<[^>]+>", "", number) for number, text in grids if text.startswith("others")]
    named = [found for found in ways.values() if found["level"]["name"] != "unknown"]
    rows = [get_strongest(found, "tpr", rate) for found in named] if rate else []
    counts = [f"{100 * row['fpr']:.0f} of 100" for row in rows if row]
    assert shown == (counts[:1] if len(set(counts)) == 1 else counts)


def test_the_level_is_one_word_everywhere(told):
    report, document = told.report, told.document
    assert f"<h1>{report.level.heading}</h1>" in told.page
    assert document["page_level"] == report.level
    ways = {"service": report.service} | ({"file": report.file} if report.file else {})
    for way, found in ways.items():
        heading = f"{found.level.heading} as a {way}".lower()
        assert heading in " ".join(told.summary.lower().split())
        assert f"**{found.level.heading}** as a {way}" in told.markdown
        assert found.level == list_ways(document)[way]["level"]["name"]
    release = "file" if report.file else "service"
    findings = list_findings(report, [], release)
    assert {one.way: one.level for one in findings} == {w: f.level for w, f in ways.items()}
    sarif = json.loads(format_result("sarif", report, document, findings, None))
    kinds = {"severe": "error", "clear": "warning", "slight": "note"}
    found = [one["level"] for one in sarif["runs"][0]["results"]]
    assert found == [kinds.get(one.level, "none") for one in findings]


def test_page_text_and_markdown_tell_one_sentence(told):
    words = html.unescape(re.sub(r"<[^>]+>", " ", told.body))
    sentence, *places = (
        re.sub(r"[\s\\`*]", "", text) for text in (told.sentence, words, told.markdown)
    )
    assert all(sentence in text for text in places)


def test_each_cell_of_the_groups_is_its_row(told):
    body = told.body
    if 'id="groups"' not in body:
        return
    table = body[body.index('id="groups"') :]
    table = table[: table.index("</table>")]
    ways = list_ways(told.document)
    rate = choose_usual_rate(ways)
    is_counted = "Members recognized of 100" in table
    n_cells = 0
    for name, cells in re.findall(r'<tr><th scope="row">(.*?)<small>.*?</th>(.*?)</tr>', table):
        name = html.unescape(re.sub(r"<[^>]+>", "", name))
        part = ("overall", "all") if name == "All records" else tuple(name.split(": ", 1))
        pattern = r'data-l="(\w+)"><span class="val"><b>(.*?)</b> <i>(.*?)</i>'
        for way, number, ends in re.findall(pattern, cells):
            row = get_strongest(ways[way], "tpr" if is_counted else "auc", rate, *part)
            n_cells += 1
            if row is None:
                assert (number, ends) == ("-", "too few others")
                continue
            digits = 3 if not is_counted else 0 if 100 * row["high"] >= 5 else 1
            base = 100 if is_counted else 1
            values = [f"{base * row[k]:.{digits}f}" for k in ("estimate", "low", "high")]
            assert [number, *ends.split(" to ")] == values
    assert n_cells
