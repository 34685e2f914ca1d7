"""Who was present too often when gangs failed for no known reason."""

import random

from goodput.suspicion import suspicions


def gangs(rng, count, size):
    return [[f"n{i}" for i in rng.sample(range(30), size)] for _ in range(count)]


def test_a_node_that_is_in_every_failed_gang_is_the_suspect():
    rng = random.Random(1)
    held = [*gangs(rng, 200, 4), *gangs(rng, 50, 8)]
    failed = ["n7" in nodes for nodes in held]

    first, *others = suspicions(held, failed)

    small = sum(1 for nodes in held if len(nodes) == 4 and "n7" in nodes)
    large = sum(1 for nodes in held if len(nodes) == 8 and "n7" in nodes)
    assert first.node == "n7"
    assert first.score == small / 4 + large / 8
    assert first.failure_count == small + large
    assert first.p_value == 1 / 1001
    assert min(other.p_value for other in others) > 1 / 1001


def test_failures_by_chance_suspect_about_as_many_as_they_should():
    shares = []
    for seed in range(20):
        rng = random.Random(seed)
        held = gangs(rng, 100, 4)
        failed = [rng.random() < 0.2 for _ in held]
        found = suspicions(held, failed, draws=200)
        shares.append(sum(1 for one in found if one.p_value <= 0.05) / 30)
    # Counted with these seeds: a test at 5 % on every node.
    assert sum(shares) / len(shares) <= 0.05


def test_a_size_of_which_all_failed_tells_nothing():
    found = suspicions([["a", "b"], ["a", "c"], ["d", "e", "f"]], [True, True, False])

    assert [(one.node, one.score, one.p_value) for one in found] == [
        ("a", 1.0, 1.0),
        ("b", 0.5, 1.0),
        ("c", 0.5, 1.0),
    ]


def test_the_same_failures_give_the_same_answer():
    rng = random.Random(3)
    held = gangs(rng, 60, 3)
    failed = [rng.random() < 0.3 for _ in held]

    assert suspicions(held, failed) == suspicions(held, failed)


def test_without_failures_nobody_is_suspect():
    assert suspicions([["a", "b"]], [False]) == []
    assert suspicions([], []) == []
