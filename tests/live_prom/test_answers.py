"""Reading answers piece by piece, whole ones and broken ones."""

import json
import tracemalloc

import pytest

from goodput.sources.prometheus_answer import Answer, BadAnswer, read_series

NASTY = ']]},{"metric":{"x":"y"},"values":[[1,"2"]]}]}}'


def answer_of(*series, **more):
    return {
        "status": "success",
        "data": {"resultType": "matrix", "result": list(series)},
        **more,
    }


def one(values=((1, "0"),), **labels):
    return {"metric": labels, "values": [list(value) for value in values]}


def text_of(document):
    return json.dumps(document, separators=(",", ":")).encode()


def read(text, piece=1 << 18):
    answer = Answer()
    pieces = (text[start : start + piece] for start in range(0, len(text), piece))
    series = [(s.metric, json.loads(bytes(s.values))) for s in read_series(pieces, answer)]
    return series, answer


@pytest.mark.parametrize("piece", [1, 7, 64, 1 << 18])
def test_series_come_out_as_they_were_sent_however_they_are_cut(piece):
    sent = [one(a=NASTY, b="\\"), one(((1, "0"), (2.5, "NaN"))), one(a="ü\u2028")]

    series, answer = read(text_of(answer_of(*sent, warnings=["half"])), piece)

    assert series == [(s["metric"], s["values"]) for s in sent]
    assert answer.warnings == ["half"]


def test_an_answer_without_series_is_one():
    assert read(text_of(answer_of()))[0] == []


@pytest.mark.parametrize(
    ("more", "warnings"),
    [
        ({}, []),
        ({"warnings": ["a store is down"]}, ["a store is down"]),
        ({"warnings": None}, []),
        ({"warnings": ["store http://a:hunter2@b failed"]}, ["store http://a:[password]@b failed"]),
        ({"isPartial": True}, ["the answer is partial"]),
        ({"infos": ["metric might not be a counter"]}, []),
    ],
)
def test_warnings_are_kept(more, warnings):
    assert read(text_of(answer_of(one(), **more)))[1].warnings == warnings


def test_every_cut_is_noticed():
    whole = text_of(answer_of(one(a=NASTY), one(b="1"), warnings=["w"]))

    for length in range(len(whole)):
        with pytest.raises(BadAnswer):
            read(whole[:length], 16)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "was cut off or is none"),
        (b"<html>gateway</html>", "was cut off or is none"),
        (b" " * (2 << 20), "begins like none"),
        (b'{"status":"error","error":"no"}', "reports an error: no"),
        (b'{"status":"error","data":{"result":[]}}', "reports an error"),
        (b'{"status":"success","data":{"resultType":"vector","result":[]}}', "not a matrix"),
        (text_of(answer_of({"metric": {"a": 1}, "values": []})), "cannot be read"),
    ],
)
def test_what_is_no_answer_is_refused(text, reason):
    with pytest.raises(BadAnswer, match=reason):
        read(text)


def test_memory_does_not_grow_with_the_answer():
    values = [[1_772_409_600 + 30 * index, "1"] for index in range(120)]
    piece = b"," + text_of(one(values, node="n"))

    def pieces():
        whole = text_of(answer_of(one(values)))
        yield whole[: -len(b"]}}")]
        for _ in range(20_000):
            yield piece
        yield b"]}}"

    tracemalloc.start()
    count = sum(1 for _ in read_series(pieces(), Answer()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 20_001
    assert peak < 1_000_000
