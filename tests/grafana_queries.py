"""What the committed dashboards ask Prometheus for."""

import json
import re

from fenced import ROOT

BOARDS = ("fleet", "job", "node", "reliability")


def expressions(page):
    """The PromQL of every panel, and the selectors that the choices above them are made from."""
    asked = [target["expr"] for panel in page["panels"] for target in panel.get("targets", ())]
    choices = [one for one in page["templating"]["list"] if one["type"] == "query"]
    return asked + [
        one["definition"].removeprefix("label_values(").rpartition(",")[0] for one in choices
    ]


def all_expressions(cluster):
    """Those of all dashboards, as Grafana sends them where nothing but the cluster was chosen."""
    for board in BOARDS:
        page = json.loads((ROOT / "dashboards" / "grafana" / f"{board}.json").read_text())
        choices = {one["name"]: ".*" for one in page["templating"]["list"]} | {"cluster": cluster}
        for text in expressions(page):
            yield re.sub(r"\$([a-z]\w*)", lambda match, given=choices: given[match[1]], text)
