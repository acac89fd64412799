import gzip

from benchmarks.batch_contestants import BASE, Contestant
from benchmarks.batch_promises import Found, promises, promises_of_padding
from benchmarks.batches import disagreement, timed
from torch import tensor

from benchmarks import real_texts


def contestant(name, run=lambda: None, means=None):
    return Contestant(name=name, ours=True, run=run, means=lambda: tensor(means))


def found(base, **seconds):
    samples = {name: dict(enumerate(taken)) for name, taken in seconds.items()}
    return Found(name="texts", lengths=(1,), chosen="ours", base=base, differ={}, samples=samples)


def test_the_chosen_way_is_held_to_the_best_of_the_others_that_came_back():
    lucky, often = [0.1], [4.0] * 6
    one = found(BASE, ours=[2.0] * 6, best=often, lucky=lucky, **{BASE: [10.0] * 6})
    against_base, against_best = promises(one)
    assert (against_base.figure, against_base.limit) == (0.2, 0.35)
    assert (against_best.figure, against_best.limit) == (0.5, 1.0)
    once = found(BASE, ours=[2.0] * 3, lucky=lucky, other=[4.0], **{BASE: [10.0] * 3})
    assert promises(once)[1].figure == 20
    (dial,) = promises(found("ours", ours=[2.3] * 6, other=[2.0] * 6))
    assert dial.figure == 1.15
    assert dial.limit == 1.1
    assert not dial.met


def test_padding_is_promised_as_a_number():
    pooled, chance = promises_of_padding("texts", (0.8, 0.13))
    assert not pooled.met
    assert chance.met


def test_who_has_no_chance_is_visited_no_more_and_the_base_until_its_interval_is_known():
    calls = dict.fromkeys(("fast", "slow", BASE), 0)

    def run(name, work):
        calls[name] += 1
        sum(range(work))

    contestants = [
        contestant(name, run=lambda name=name, work=work: run(name, work))
        for name, work in (("fast", 20_000), ("slow", 400_000), (BASE, 800_000))
    ]
    samples = timed(contestants, BASE, rounds=8)
    assert {name: len(taken) for name, taken in samples.items()} == calls
    assert calls == {"fast": 8, "slow": 1, BASE: 6}


def test_numbers_are_compared_as_vectors_of_length_one():
    one, twice = contestant("one", means=[[3.0, 4.0]]), contestant("twice", means=[[6.0, 8.0]])
    other = contestant("other", means=[[4.0, 3.0]])
    assert disagreement(one, twice) == 0
    assert abs(disagreement(one, other) - 0.2) < 1e-6


def test_texts_are_read_as_their_packages_hold_them(tmp_path, monkeypatch):
    (tmp_path / "sayings").write_text("one\n%\ntwo\nlines\n%\n\n")
    (tmp_path / "sayings.dat").write_bytes(b"\x00")
    (tmp_path / "ascii-art").write_text("art")
    monkeypatch.setattr(real_texts, "_SAYINGS", tmp_path)
    assert sorted(real_texts.texts("fortunes", 9)) == ["one", "two\nlines"]
    entries = tmp_path / "entries.dz"
    with gzip.open(entries, "wt") as file:
        file.write("first entry of the book\n\n   its lines\nsecond entry of the book\nno\n")
    monkeypatch.setattr(real_texts, "_ENTRIES", entries)
    read = real_texts.texts("foldoc", 9)
    assert sorted(one.split()[0] for one in read) == ["first", "second"]
    assert real_texts.missing() == {}
    monkeypatch.setattr(real_texts, "_ENTRIES", tmp_path / "gone")
    assert "apt-get install dict-foldoc" in real_texts.missing()["foldoc"]
