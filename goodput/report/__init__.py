"""The weekly report: one versioned result, and pages made from it alone.

`write_report` reads a built warehouse and writes report.json, report.html and digest.md;
`render_html` and `render_digest` need nothing but the result.
"""

from goodput.report.result import SCHEMA_VERSION, read_result
from goodput.report.write import ReportFiles, write_report

__all__ = ["SCHEMA_VERSION", "ReportFiles", "read_result", "write_report"]
