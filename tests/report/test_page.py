"""The page of an audit: what it says, that it needs nothing else, and that it is well formed."""

import html
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia._core.escaping import as_html
from skmia._core.pages.curves import draw_roc
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.report._page import render_audit

pytest.importorskip("jinja2")


class Reader(HTMLParser):
    """Collects texts and attributes, and insists on closed elements."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.texts.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return " ".join(" ".join(reader.texts).split()), reader.attributes


def make_result(max_depth=None, n=600, model=None, **settings):
    records, membership = make_membership_problem(n, random_state=0)
    rng = np.random.default_rng(0)
    names = np.array([f"person {k}" for k in range(n)])
    city = rng.choice(["Rome", "<b>Oslo</b>"], n)
    records = Records(records.X, records.y, record_id=names, city=city)
    members = records[membership == 1]
    model = model or DecisionTreeClassifier(max_depth=max_depth, random_state=0)
    victim = model.fit(members.X, members.y)
    attacks = {"threshold (loss)": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "shadows": 4, "random_state": 0, "group": "city"} | settings
    return audit(victim, records, membership, **settings)


@pytest.fixture(scope="module")
def leaky():
    """An audit with a rate that its 300 non-members resolve, and one that they do not."""
    return make_result(fprs=(0.1, 0.001))


def test_it_says_what_the_audit_found(leaky):
    text, _ = read(leaky.to_html(title="A tree"))
    assert text.startswith("Severe leakage: A tree Skip to the result skmia A tree")
    assert (
        "DecisionTreeClassifier \xb7 300 members, 300 others Severe leakage An attacker with"
        in text
    )
    for name in leaky.scores:
        assert name in text
    assert "person" in text
    assert "not resolvable" in text  # of 300 non-members 0.1% is none


def test_the_first_screen_is_the_beginning_of_the_document(leaky):
    page = leaky.to_html()
    marks = ["<h1>", 'class="lead"', 'id="next"', 'class="evidence', 'class="roc"', "<h2>By group"]
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    assert (
        page.count("<h1>") == 1 and 1 <= page[: places[3]].count("<li>") <= 3 + 6
    )  # steps, contents


def test_the_sections_have_their_order_and_a_failed_check_moves_one_up(leaky):
    def list_sections(page):
        return re.findall(r'<section id="(\w+)">', page)

    document = json.loads(leaky.to_json())
    usual = ["result", "groups", "records", "trust", "how", "repeat"]
    assert list_sections(render_audit(document)) == usual
    next(one for one in document["checks"] if one["name"] == "duplicates")["status"] = "warning"
    page = render_audit(document)
    assert list_sections(page) == ["result", "trust", "groups", "records", "how", "repeat"]
    text, _ = read(page)
    warning = "! Many records are on both sides. Checks"
    assert text.index(warning) < text.index("The attacker holds candidate records")


def test_each_level_has_its_first_words(leaky):
    document = json.loads(leaky.to_json())
    shown = {}
    for name in ("severe", "clear", "slight", "none", "unknown"):
        document["level"]["name"] = document["file"]["level"]["name"] = name
        document["evidence"] = document["file"]["evidence"] = {
            "none": "none",
            "unknown": "shift",
        }.get(name, "leak")
        page = render_audit(document)
        shown[name] = re.search("<h1>(.*?)</h1>", page)[1]
        # Members of both routes, and others once or twice: as many as are mistaken in each.
        n_grids = re.search(r'"evidence of(\d)"', page)
        assert (n_grids is None) == (name == "unknown")
        assert page.count('class="dot"') == (int(n_grids[1]) if n_grids else 0)
        assert n_grids is None or n_grids[1] in "34"
        assert re.search(r"<title>(.*?):", page)[1] == shown[name]
    assert shown == {
        "severe": "Severe leakage",
        "clear": "Clear leakage",
        "slight": "Slight leakage",
        "none": "No leakage detected",
        "unknown": "No verdict",
    }


def test_a_model_that_tells_nothing_is_told_from_a_leaky_one():
    text, _ = read(make_result(1, attacks={"loss": ThresholdAttack()}, file=False).to_html())
    assert "No leakage detected" in text and " leakage One attack recognizes" not in text
    assert "Audit the file before you release it." in text
    assert "The model was not attacked as a file." in text
    # What there is once stands in the singular.
    assert "One attack guesses which of 600 records" in text and " 1 attack, AUC;" in text
    assert not re.search(r"\b(one|1) attacks", text, re.IGNORECASE)


def test_it_needs_no_other_file(leaky):
    page = leaky.to_html()
    _, attributes = read(page)
    named = dict.fromkeys(name for name, _ in attributes)
    assert not {"src", "style", "onclick", "action"} & named.keys()
    links = [value for name, value in attributes if name == "href"]
    assert links and all(link.startswith("#") for link in links)
    ids = {value for name, value in attributes if name == "id"}
    assert {link[1:] for link in links} <= ids
    assert "<script" not in page
    assert "://" not in page and "url(" not in page and "@import" not in page


def test_text_of_the_user_stays_text(leaky):
    page = leaky.to_html(title="<script>alert(1)</script>")
    assert "<b>Oslo" not in page and "&lt;b&gt;Oslo" in page
    assert "<script>alert" not in page


def test_exposed_records_are_the_highest_members(leaky):
    document = json.loads(leaky.to_json())
    best = document["curves"][0]["attack"]
    scores, members = leaky.scores[best], np.flatnonzero(leaky.membership)
    exposed = document["exposed"]
    assert [row["attack"] for row in exposed] == [best] * 20
    np.testing.assert_allclose(
        [row["score"] for row in exposed], np.sort(scores[members])[::-1][:20]
    )
    first = exposed[0]
    row = int(first["record"].removeprefix("person "))
    assert leaky.membership[row] and scores[row] == first["score"]
    assert first["n_above"] == np.sum(scores[~leaky.membership] >= first["score"])
    assert [row["n_equal"] for row in exposed] == [
        np.sum(scores[members] == row["score"]) for row in exposed
    ]


def test_curves_are_points_of_the_roc_curve(leaky):
    for curve in json.loads(leaky.to_json())["curves"]:
        scores, truth = leaky.scores[curve["attack"]], leaky.membership
        cuts = np.unique(scores)
        points = {
            (round(np.mean(scores[~truth] >= cut), 6), round(np.mean(scores[truth] >= cut), 6))
            for cut in cuts
        }
        assert set(zip(curve["fpr"], curve["tpr"])) <= points
        assert all(
            low <= tpr <= high for tpr, low, high in zip(curve["tpr"], curve["low"], curve["high"])
        )
        assert curve["fpr"] == sorted(set(curve["fpr"])) and curve["fpr"][-1] == 1


def test_a_difference_of_the_records_themselves_is_a_warning():
    records, membership = make_membership_problem(200, random_state=0)
    shifted = Records(records.X + 2 * membership[:, None], records.y)
    members = shifted[membership == 1]
    victim = DecisionTreeClassifier(max_depth=1).fit(members.X, members.y)
    settings = {"attacks": {"loss": ThresholdAttack()}, "file": False, "random_state": 0}
    result = audit(victim, shifted, membership, **settings)
    text, _ = read(result.to_html())
    assert "No verdict Members and non-members differ even without the model." in text
    assert "Leakage found" not in text and "Severe" not in text.partition("By group")[0]
    assert "Take both sides from one population." in text
    assert "neither shows leakage nor rules it out" in result.summary(verbose=True).replace(
        "\n  ", " "
    )


def test_the_page_is_that_of_the_document(leaky, tmp_path):
    page = leaky.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert render_audit(json.loads(leaky.to_json())) == page


def test_values_of_exposed_records_are_shown_only_when_they_are_given(leaky):
    table = pd.DataFrame({"secret": [f"value <{k}>" for k in range(len(leaky.membership))]})
    first = json.loads(leaky.to_json())["exposed"][0]
    shown, _ = read(leaky.to_html(values=table))
    assert "secret" in shown and f"value <{first['position']}>" in shown
    n_routes = 1 + (leaky.file is not None and leaky.file.evidence == "leak")
    assert shown.count("value <") == 20 * n_routes
    hidden, _ = read(leaky.to_html())
    assert "feature values are not shown" in hidden and "value <" not in hidden
    with pytest.raises(ValueError, match="a row for each of 600 records; got 3"):
        leaky.to_html(values=table[:3])


def test_a_notebook_gets_the_page_in_a_frame_of_its_own(leaky, monkeypatch):
    shown = leaky._repr_html_()
    assert shown.startswith("<iframe ") and shown.endswith("</iframe>")
    assert html.unescape(shown.split('srcdoc="')[1].split('" title=')[0]) == leaky.to_html()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert leaky._repr_html_() == as_html(leaky.summary())


def test_a_rate_of_a_thousandth_is_refused_with_under_200_records():
    report = make_result(n=198, fprs=(0.2, 0.001), attacks={"loss": ThresholdAttack()}, file=False)
    frame = report.to_frame().query("max_fpr == 0.001")
    assert (frame["status"] == "not resolvable").all() and frame["estimate"].isna().all()
    text, _ = read(report.to_html())
    assert "No TPR is given at 0.1%" in text
    assert set(report.permutation.frame["max_fpr"].dropna()) == {0.2}


def test_a_page_of_few_records_and_equal_numbers_is_made(leaky):
    document = json.loads(leaky.to_json())
    document["performance"] |= {"metric": "r2", "nonmembers": None, "gap": None}
    for test in document["disparity"]["scopes"]:
        test["statistic"] = None  # infinite
    text, _ = read(render_audit(document))
    assert "nan on non-members" in text


def test_groups_that_resolve_nothing_are_one_line(leaky):
    document = json.loads(leaky.to_json())
    names = ("estimate", "low", "high", "fpr", "fpr_low", "fpr_high")
    for row in document["results"] + document["file"]["results"]:
        if row["group"] == "Rome":
            row |= dict.fromkeys(names) | {"status": "too few records"}
    for way in (document, document["file"]):
        way["level"]["groups"] = [one for one in way["level"]["groups"] if one["group"] != "Rome"]
    text, _ = read(render_audit(document))
    assert "Too few records to measure: city: Rome." in text
    assert "city: Rome" not in text.replace("measure: city: Rome", "")


def test_dots_are_whole_and_have_one_denominator(leaky):
    document = json.loads(leaky.to_json())
    grids = re.findall(
        r'<p class="n">(\S+) <small>of 100.*?class="dot" d="(.*?)"', render_audit(document), re.S
    )
    assert len(grids) in (3, 4)  # others once or twice, as many as are mistaken in each route
    for number, path in grids:
        ends = re.findall(r"M7 \d+H([\d.]+)", path)
        drawn = sum(1 + (float(end) - 7) // 14 for end in ends)
        assert drawn == int(number)


def test_a_curve_begins_where_ten_false_positives_are(leaky):
    drawing = draw_roc(
        [
            {"fpr": [0.001, 0.01, 0.1, 1], "tpr": [0.2, 0.4, 0.6, 1], "low": [0.1, 0.3, 0.5, 1]}
            | {"high": [0.3, 0.5, 0.7, 1], "from": 0.01, "at": (0.1, 0.6)}
            | {"name": "file", "level": "severe", "dashed": False}
        ]
    )
    (line,) = drawing["lines"]
    xs = [float(point.split(",")[0]) for point in line["points"].split()]
    ticks = {name: x for name, x, _ in drawing["ticks"]}
    assert min(xs) == ticks["1%"] and max(xs) == ticks["100%"]
    assert line["point"][0] == ticks["10%"]


@pytest.mark.parametrize(
    "model, name",
    [
        (
            make_pipeline(StandardScaler(), DecisionTreeClassifier()),
            "DecisionTreeClassifier in a Pipeline",
        ),
        pytest.param(
            GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, cv=2),
            "DecisionTreeClassifier in a search",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_model_has_a_short_name(model, name):
    report = make_result(model=model, file=False, attacks={"loss": ThresholdAttack()})
    assert report.victim_name == name
    text, _ = read(report.to_html())
    assert f"{name} \xb7 300 members, 300 others" in text


def test_shadow_models_of_the_same_recipe_are_like_the_model():
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_leaf_nodes=17))
    settings = {"model": model, "n": 200, "attacks": {"RMIA": RMIA()}, "file": False}
    alike, _ = read(make_result(**settings).to_html())
    assert "trains 4 shadow models on random halves of the records, like the model" in alike
    other, _ = read(make_result(estimator=DecisionTreeClassifier(), **settings).to_html())
    assert "on random halves of the records: DecisionTreeClassifier()" in other


def test_a_long_name_is_cut_between_words(leaky):
    document = json.loads(leaky.to_json()) | {"victim_name": "a long name of a model " * 10}
    page = render_audit(document)
    subject = re.search('<p class="subject">(.*?)</p>', page)[1]
    assert (
        "a long name of a model a long name of a model a long name…" in subject
        and len(subject) < 120
    )


def test_twenty_groups_of_many_records_make_a_page_below_60_kilobytes(leaky):
    document = json.loads(leaky.to_json())
    for way in (document, document["file"]):
        rows = [row for row in way["results"] if row["group"] != "Rome"]
        for row in [row for row in way["results"] if row["group"] == "Rome"]:
            rows += [row | {"group": f"a city of number {k}"} for k in range(19)]
        way["results"] = rows
        way["curves"] = [
            one
            | {name: np.linspace(0.001, 1, 120).tolist() for name in ("fpr", "tpr", "low", "high")}
            for one in way["curves"]
        ]
        (level,) = (one for one in way["level"]["groups"] if one["group"] == "Rome")
        way["level"]["groups"] += [level | {"group": f"a city of number {k}"} for k in range(19)]
    document["data"] = {"n_records": 20_000, "n_members": 10_000, "n_nonmembers": 10_000}
    page = render_audit(document)
    assert page.count("a city of number") >= 19 * 2
    assert len(page.encode()) < 60 * 1024


def test_a_policy_is_the_first_step_and_changes_no_level(leaky):
    document = json.loads(leaky.to_json())
    before = render_audit(document)
    words = {"do not release": "Do not release the file.", "release": "The file may be released."}
    for result, step in words.items():
        document["recommendation"] = RECOMMENDATION | {"result": result}
        text, _ = read(render_audit(document))
        assert f"What to do next {step} By the policy cautious: {result}." in text
        assert (
            re.search("<h1>.*</h1>", render_audit(document))[0]
            == re.search("<h1>.*</h1>", before)[0]
        )


RECOMMENDATION = {
    "release": "file",
    "policy": {"name": "cautious", "sha256": "", "text": "", "alpha": 0.05},
    "reasons": ["auc (all): 0.9 [0.8, 1], and the limit is 0.6."] * 20,
    "conditions": [],
    "reviews": [],
    "tried": [],
}
