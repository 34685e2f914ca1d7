"""The weekly report: one versioned result, and pages made from it alone.

`write_report` reads a built warehouse and writes report.json and all that is made from it: the
page, the digest, the Slack message, the mail, the textfile. Renderers need nothing but the result.
"""

from goodput.report.result import SCHEMA_VERSION, read_result
from goodput.report.write import ReportFiles, write_report

__all__ = ["SCHEMA_VERSION", "ReportFiles", "read_result", "write_report"]
