"""Lines of the sheet of evidence, of poor and of rich documents, with answers by hand."""

from by_hand import expect_answers, tell_refusal

from skmia.report import _authority_sheet as sheet
from skmia.report import _run


def row(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc", "high": 0.625}
    return usual | {"max_fpr": None} | changed


def document(evidence="none", **changed):
    usual = {"schema": "skmia.audit", "evidence": evidence, "results": [row(), row("b")]}
    usual |= {"data": {"n_members": 1200, "n_nonmembers": 30, "n_records": 1230}, "file": None}
    usual |= {"verdict": "First. Second.", "exposed": [], "task": "regression", "reference": None}
    usual |= {"recommendation": None, "person_level": None}
    usual |= {"settings": {"n_shadows": 8, "confidence_level": 0.95}}
    usual |= {"checks": []}
    return usual | changed


def compared(*attacks, recipe="own"):
    names = ("share", "n_models")
    return {"recipe": recipe, "attacks": [dict(zip(names, one, strict=True)) for one in attacks]}


def able(evidence="none", *attacks, **changed):
    return sheet._tell_able(document(evidence, reference=compared(*attacks, **changed)), "service")


def able_file(evidence, obstacle):
    file = {"obstacle": obstacle, "evidence": evidence}
    return sheet._tell_able(document(file=file), "file")


def ends(*rows):
    return sheet._tell_upper_ends(rows)


def worst(*rows, exposed=()):
    return sheet._tell_worst({"results": rows, "exposed": exposed})


def stored(*members, obstacle=None, others=0.0):
    sources = [
        {"hits": share if share is None else {"members": share, "nonmembers": others}}
        for share in members
    ]
    found = sheet._tell_stored_rows(document(file={"sources": sources, "obstacle": obstacle}))
    return found.status, found.ran[:10], found.overall, found.is_leak


def attributes(*ends):
    limits = [
        {"name": name, "interval": end and (0.0, 0.0, end), "group": f"g{k}"}
        for k, (name, end) in enumerate(ends)
    ]
    found = sheet._tell_attributes(document(recommendation={"limits": limits}))
    return found.status, found.overall, found.exposed


def describe_origin(provenance=None, sha256="7a", **settings):
    found = None
    if provenance is not None:
        policy = {"name": "house", "sha256": sha256}
        found = {"policy": policy, "release": "file", "result": "release", "provenance": provenance}
    given = {"recommendation": found, "created": "today", "versions": {"skmia": "1", "numpy": "2"}}
    given |= {"seeds": {"pool": 3, "checks": 4}, "settings": settings, "victim_name": "SVC"}
    return sheet._describe_origin(given)


def table(*rows, evidence="none", data=None, unchanged=None):
    names = ("name", "high", "leak")
    counts = {"n_attacks": 1500, "n_controls": 20}
    rows = [dict(zip(names, one, strict=True)) | counts for one in rows]
    given = {"schema": "skmia.table", "data": data or {}, "results": rows, "unchanged": unchanged}
    found = sheet._list_table_evidence(document(evidence, **given))
    return [
        (one.attack.split()[0], one.status, one.overall, one.exposed, one.is_leak) for one in found
    ]


def lines(*statuses, n_leaks=0):
    return sheet._count_statuses(
        [
            sheet.EvidenceLine("", "", "", status, "", "", "", "", k < n_leaks)
            for k, status in enumerate(statuses)
        ]
    )


def unchanged(train, test):
    """What the line on copies says of so many of 60 training rows, and of rows never seen."""
    found = {"train": train, "n_train": 60, "alone": 0, "test": test, "n_test": test and 50}
    told = table(("rare copies", 0.25, False), unchanged=found)[2][2]
    return told.removeprefix("at most 25% more than for rows never seen")


def check(name, status="passed"):
    return {"name": name, "status": status, "text": "", "finding": None}


def people(n_members=34, n_nonmembers=1200, n_mixed=0, auc=0.5):
    found = {"n_members": n_members, "n_nonmembers": n_nonmembers, "n_mixed": n_mixed, "auc": auc}
    return sheet._tell_people(document(person_level=found))


def attackers(**changed):
    return [(way, text) for way, text in sheet._list_attackers(document(**changed))]


class Records(list):
    """Records that say how they are selected."""

    def __getitem__(self, rows):
        return "selected"


FEW = "no: fewer than 8 models that are known to be without the records"
F = {"scope": "sex", "group": "f"}
NOT_APPLICABLE = [("Exfiltration", "not tested", "", "", False)]
NOT_APPLICABLE += [("Model", "does not apply", "", "", False)]
RATES = [row(metric="tpr", max_fpr=0.1, high=0.9), row(metric="tpr", max_fpr=0.01, high=0.25)]

ROWS = [
    # Whether a way could have told something.
    (lambda: able(), FEW),
    (lambda: able("leak"), "yes: leakage was found"),
    (lambda: sheet._tell_able(document(), "service"), FEW),
    (lambda: able("none", (0.95, 8)), "yes: compared with 8 models"),
    (lambda: able("none", (0.94, 8)), FEW),
    (lambda: able("none", (0.95, 7)), FEW),
    (lambda: able("none", (1.0, 8), (1.0, 16), (0.9, 32)), "yes: compared with 16 models"),
    (lambda: able("none", (1.0, None)), "yes: in closed form"),
    (
        lambda: able("none", (1.0, 8), recipe="given"),
        "in part: models of a stand-in; the kind of this model is not known",
    ),
    (lambda: able_file("none", "odd"), "no: odd"),
    (lambda: able_file("leak", "odd"), "yes: leakage was found"),
    (lambda: able_file("leak", None), "yes: every number that it stores was read"),
    (lambda: able_file("none", None), "yes: every number that it stores was read"),
    # Upper ends, at the lowest rate.
    (lambda: ends(), ""),
    (lambda: ends(row(), row("b", high=0.75)), "AUC at most 0.750"),
    (lambda: ends(row(high=None), row(scope="sex", group="all", high=0.9)), ""),
    (
        lambda: ends(*RATES, row("b", metric="tpr", max_fpr=0.01, high=0.5), row()),
        "at most 50% recognized if at most 1% of the others are mistaken; AUC at most 0.625",
    ),
    (lambda: worst(row(high=0.9)), "no group was asked for"),
    (lambda: worst(row(**F, high=None)), "no group was large enough to be judged"),
    (
        lambda: worst(row(**F), row(scope="sex", group="m", high=0.75), *RATES),
        "sex m: AUC at most 0.750",
    ),
    (
        lambda: worst(row(**F), exposed=[{"record": "r1", "n_above": 1234}, {"record": "r2"}]),
        "sex f: AUC at most 0.625; record r1: 1,234 of the others scored as high",
    ),
    (
        lambda: worst(exposed=[{"record": 7, "n_above": 0}])[-45:],
        "; record 7: none of the others scored as high",
    ),
    (
        lambda: sheet._tell_membership(document(), "service")[3:],
        (
            "cannot be said",
            "a, b, on 1,200 members and 30 others",
            FEW,
            "AUC at most 0.625",
            "no group was asked for",
            False,
        ),
    ),
    (
        lambda: sheet._tell_membership(document("leak"), "service")[3::5],
        ("measured", True),
    ),
    (
        lambda: sheet._tell_membership(document("shift"), "service")[3::2],
        ("cannot be said", "First.", ""),
    ),
    (
        lambda: sheet._tell_membership(document("unknown", results=[]), "service").ran,
        "no attack, of 1,200 members and 30 others",
    ),
    # Attributes, and rows in a file.
    (lambda: attributes(), ("not tested", "", "")),
    (lambda: attributes(("auc", 0.5), ("attribute_gain", None))[0], "not tested"),
    (
        lambda: attributes(("attribute_gain", 0.25), ("attribute_gain", 0.5)),
        ("measured", "at most 50% more than by guessing", "g1"),
    ),
    (lambda: sheet._tell_attributes(document()).status, "not tested"),
    (
        lambda: sheet._tell_stored_rows(document())[3:5],
        ("not tested", "The file was not attacked."),
    ),
    (lambda: stored(None), ("not tested", "No number ", "", False)),
    (
        lambda: stored(None, obstacle="It is odd and so on."),
        ("not tested", "It is odd ", "", False),
    ),
    (lambda: stored(0.0, None), ("measured", "search for", "no row found", False)),
    (
        lambda: [stored(share)[2][:14] for share in (1.0, 0.9996, 0.99)],
        [
            "100% of the tr",
            "more than 99.9",
            "99% of the tra",
        ],
    ),
    (
        lambda: stored(None, 0.5, None),
        ("measured", "search for", "50% of the training rows found in it", True),
    ),
    # Rows of few values are found by chance as well, which is no leak.
    (
        lambda: stored(0.25, others=0.25)[2:],
        ("25% of the training rows found in it, and 25% of the others", False),
    ),
    (
        lambda: stored(0.25, others=0.125)[2:],
        ("25% of the training rows found in it, and 12.5% of the others", False),  # 4 of 30
    ),
    (
        lambda: stored(0.5, others=0.125)[2:],
        ("50% of the training rows found in it, and 12.5% of the others", True),
    ),
    (lambda: stored(0.0, others=0.125)[2:], ("no row found", False)),
    # Copies that are too few to be a leak are told nevertheless.
    (lambda: unchanged(0, 0), ""),
    (lambda: unchanged(4, 0), "; 4 of 60 training rows unchanged; of rows never seen, 0"),
    (lambda: unchanged(4, None), "; 4 of 60 training rows unchanged"),
    # The levels of the intervals.
    *(
        (
            lambda levels=levels: sheet._tell_levels(
                [
                    document(settings={"confidence_level": level}, victim_name=f"model {k}")
                    for k, level in enumerate(levels)
                ]
            ),
            told,
        )
        for levels, told in (
            ([0.99], "99% intervals"),
            ([0.9, 0.9], "90% intervals"),
            ([0.95, 0.9], "intervals (95% for model 0, 90% for model 1)"),
        )
    ),
    # Lines of a table.
    (
        lambda: table(
            ("membership", 0.5, False),
            ("privacy loss", 0.625, True),
            ("inference of a", 0.25, False),
            ("rare copies", None, True),
            ("linkability", 0.125, False),
            evidence="leak",
        ),
        [
            (
                "Membership",
                "measured",
                "at most 62.5% more than for rows never seen",
                "privacy loss",
                True,
            ),
            (
                "Attribute",
                "measured",
                "at most 25% more than for rows never seen",
                "one number for all",
                False,
            ),
            ("Regurgitation", "not tested", "", "", False),
            ("Singling", "not tested", "", "", False),
            (
                "Linkability",
                "measured",
                "at most 12.5% more than for rows never seen",
                "one number for all",
                False,
            ),
            *NOT_APPLICABLE,
        ],
    ),
    (
        lambda: {one[1] for one in table(("linkability", 0.5, True), evidence="shift")[:5]},
        {"cannot be said"},
    ),
    # How many lines have each status.
    (lambda: lines(), []),
    (lambda: lines("measured"), ["1 measured, of which none found leakage"]),
    (
        lambda: lines(*["measured"] * 3, "not tested", "cannot be said", n_leaks=2),
        ["3 measured, of which 2 found leakage", "1 cannot be said", "1 not tested"],
    ),
    (lambda: lines("does not apply"), ["1 does not apply"]),
    (lambda: lines("does not apply", "does not apply"), ["2 do not apply"]),
    (
        lambda: [
            sheet.EvidenceLine("", "", "", status, "", "", "", "", leak).told
            for status, leak in (("measured", True), ("measured", False), ("not tested", False))
        ],
        ["Leakage found", "No leakage found", "Not tested"],
    ),
    # Who attacks.
    (lambda: [way for way, _ in attackers()], ["service"]),
    (lambda: [way for way, _ in attackers(file={})], ["service", "file"]),
    (lambda: [way for way, _ in attackers(schema="skmia.table")], ["synthetic table"]),
    (lambda: "only by its answers, and trains 8 models" in attackers()[0][1], True),
    (
        lambda: attackers(settings={"n_shadows": 0})[0][1].rpartition("likes. ")[2],
        "Trains no models.",
    ),
    *(
        (
            lambda checks=checks: attackers(file={}, checks=checks)[1][1].partition("which ")[2],
            f"{which} training rows are, and makes no query.",
        )
        for checks, which in (
            ([], "nearly all"),
            ([check("training rows")], "nearly all"),
            ([check("training rows", "warning")], "not all"),
        )
    ),
    (lambda: "and its settings, and" in attackers(reference=compared())[0][1], True),
    (
        lambda: "only by its answers" in attackers(reference=compared(recipe="given"))[0][1],
        True,
    ),
    (
        lambda: sheet._describe_sample(document()),
        "1,230 records, 1,200 of which were training rows. Of people who are not among them, "
        "nothing was measured. Each record counted as one person.",
    ),
    (lambda: people(), "1,234 people were attacked, each with all of their records."),
    (
        lambda: people(n_mixed=5),
        "1,234 people were attacked, each with all of their records; 5 more with records on both "
        "sides were left out.",
    ),
    (
        lambda: people(n_mixed=1)[-48:],
        " 1 more with records on both sides was left out.",
    ),
    (
        lambda: people(1, 2, auc=None),
        "3 people are too few to be attacked, each with all of their records.",
    ),
    (
        lambda: people(0, 0, 40, auc=None),
        "0 people are too few to be attacked, each with all of their records; 40 more with records "
        "on both sides were left out.",
    ),
    (
        lambda: sheet._tell_people(document(checks=[check("people")])),
        "No attack was made on all records of a person together.",
    ),
    (
        lambda: sheet._describe_sample(
            {
                "schema": "skmia.table",
                "data": {"n_synthetic": 1234, "n_columns": 5, "n_real": 60},
            }
        ),
        "1,234 synthetic rows with 5 columns, compared with 60 training rows and 0 rows never "
        "seen.",
    ),
    (lambda: tell_refusal(lambda: sheet._as_document({"a": 1}))[:8], "results "),
    (
        lambda: tell_refusal(lambda: sheet._as_document({"schema": "x"})),
        "results must be audits; got the schema 'x'.",
    ),
    (lambda: [one.status for one in sheet.list_evidence(document())].count("not tested"), 6),
    (lambda: len(sheet.list_evidence(document())), 8),
    (
        lambda: [
            sheet.list_evidence(document(task=task))[4].ran
            for task in ("classification", "regression")
        ],
        [
            "It answers with labels or probabilities, and never with text or rows.",
            "It answers with numbers, and never with text or rows.",
        ],
    ),
    # Hashes that are known, and the decision of a policy.
    (
        describe_origin,
        {
            "subject": "SVC",
            "created": "today",
            "versions": "skmia 1, numpy 2",
            "seeds": "pool 3, checks 4",
            "hashes": [],
            "command": "",
            "decision": "",
        },
    ),
    (
        lambda: describe_origin({"sha256 of a": "f0", "sha256 of b": "", "command": "skmia"}),
        describe_origin()
        | {
            "hashes": [("sha256 of a", "f0"), ("sha256 of the policy house", "7a")],
            "command": "skmia",
            "decision": "By the policy house, as a file: release.",
        },
    ),
    (lambda: describe_origin({}, sha256="")["hashes"], []),
    # An audit without a policy is repeated as well.
    (lambda: describe_origin(command={"repeat": "skmia table"})["command"], "skmia table"),
    (lambda: describe_origin(command={"model": "a.skops"})["command"], ""),
    (
        lambda: describe_origin({"command": "skmia"}, command={"repeat": "skmia b"})["command"],
        "skmia",
    ),
    # All records of a sample are not selected anew.
    (lambda: type(_run.take_sampled_records(Records(), _run.ALL)).__name__, "Records"),
    (lambda: _run.take_sampled_records(Records(), slice(0, 2)), "selected"),
    (lambda: _run.take_sampled_records(Records(), [0, 1]), "selected"),
]


def test_answers_by_hand():
    expect_answers(ROWS)
