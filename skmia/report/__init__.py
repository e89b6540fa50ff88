"""Audits: several attacks on one victim, measured with honest intervals."""

from ._audit import audit
from ._result import AuditResult

__all__ = ["AuditResult", "audit"]
