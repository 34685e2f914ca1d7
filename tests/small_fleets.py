"""Small fleets that tests of metrics are about."""

CLUSTER = "cluster  member\nc  c"

TWO_NODES = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  2     00:00
    c        n2        train  2     00:00
"""
