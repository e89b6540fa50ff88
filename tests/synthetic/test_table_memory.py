"""The test of copies ends within a limit of memory, and an audit says what it drew."""

import textwrap
from types import SimpleNamespace

import numpy as np
import pandas as pd
from forked import FORKS, run_program

from skmia.synthetic import CopyTest
from skmia.synthetic._cells import TableCells
from skmia.synthetic._table._audit import _list_notes

LIMITED = """
    import resource

    import numpy as np

    from skmia.synthetic import CopyTest

    rng = np.random.default_rng(0)

    def draw_tables(n_rows):
        real, held_out, made = (rng.normal(size=(n, 10)).round(2) for n in (n_rows, n_rows, 500))
        made[:100] = real[:100]
        return real, held_out, made

    CopyTest(random_state=0).fit(*draw_tables(2500))  # what does not grow
    tables = draw_tables(50_000)
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + 10 * tables[0].nbytes
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    test = CopyTest(random_state=0).fit(*tables)
    assert test.result_.loc["rare copies", "train"] >= 100
"""


@FORKS
def test_a_test_of_copies_holds_at_most_ten_tables():
    code, _, told = run_program(textwrap.dedent(LIMITED))
    assert code == 0, told[-2000:]


def draw_table(rng, n_rows):
    numbers = rng.normal(size=(n_rows, 2)).round(1)
    return pd.DataFrame(numbers, columns=["a", "b"]).assign(k=rng.choice(list("xyz"), n_rows))


def test_encoded_tables_are_neither_copied_nor_changed():
    rng = np.random.default_rng(0)
    tables = [draw_table(rng, n) for n in (60, 50, 40)]
    cells = TableCells(tables, ("real", "holdout", "synthetic"))
    joined = cells.join_first(2)
    assert all(np.shares_memory(whole, part) for whole, part in zip(joined, cells.tables[1]))
    for whole, first, second in zip(joined, *cells.tables[:2]):
        np.testing.assert_array_equal(whole, np.concatenate([first, second]))
    before = [column.copy() for column in cells.join_first(3)]
    found = CopyTest(random_state=0)._fit_cells(cells).result_
    pd.testing.assert_frame_equal(
        found, CopyTest(random_state=0).fit(*tables).result_, check_exact=True
    )
    for column, kept in zip(cells.join_first(3), before):
        np.testing.assert_array_equal(column, kept)


def list_notes(*sizes):
    columns = SimpleNamespace(identifiers={})
    return _list_notes(columns, [pd.DataFrame(index=range(n)) for n in sizes])


def test_a_report_says_how_many_of_how_many_rows_were_attacked():
    (note,) = list_notes(2400, 2100, 300)
    assert "2,000 of 2,400 training rows" in note
    assert "300 of 300 held-out rows" in note
    assert "2,000 of 2,100 synthetic rows" in note
    assert "exact copies are looked for in all rows" in note


def test_a_report_of_few_rows_has_no_sentence_on_samples():
    assert list_notes(60, 60, 60) == []
