"""The audit of a synthetic table: numbers, verdict, page, JSON and text."""

from ._audit import TableReport as TableReport
from ._audit import audit_table as audit_table
from ._report import save_table as save_table
