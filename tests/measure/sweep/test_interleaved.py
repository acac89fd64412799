from attncost.measure.clocks.interface import Clock
from attncost.measure.sweep.interleaved import interleave, ratio


class Ticking(Clock):
    """Time is what a call says it took, slower by a factor that changes every round."""

    name, reason, device = "ticks", "it is told", "cpu"

    def __init__(self):
        self.load, self.now, self.order = 1.0, 0.0, []

    def call(self, name, seconds):
        def run():
            self.now += seconds * self.load
            self.order.append(name)

        return run

    def elapsed(self, call, repeats):
        start = self.now
        for _ in range(repeats):
            call()
        return self.now - start


def test_a_ratio_survives_a_machine_that_changes_its_pace():
    clock = Ticking()
    calls = {"fast": clock.call("fast", 2.0), "slow": clock.call("slow", 5.0)}

    def wanted(samples):
        clock.load = 1.0 + 10 * (len(samples["fast"]) % 3)
        return samples.keys()

    samples = interleave(calls, clock, rounds=15, wanted=wanted)
    found = ratio(samples, "slow", "fast")
    assert (found.figure, found.low, found.high, found.rounds) == (2.5, 2.5, 2.5, 15)
    assert max(samples["fast"].values()) > 10 * min(samples["fast"].values())


def test_what_is_no_longer_wanted_is_left_out_and_a_ratio_takes_common_rounds():
    clock = Ticking()
    calls = {name: clock.call(name, 1.0) for name in "abc"}
    samples = interleave(
        calls, clock, rounds=9, wanted=lambda found: "abc" if len(found["c"]) < 4 else "ab"
    )
    assert [len(samples[name]) for name in "abc"] == [9, 9, 4]
    assert ratio(samples, "a", "c").rounds == 4


def test_every_round_has_an_order_of_its_own():
    clock = Ticking()
    names = "abcdef"
    calls = {name: clock.call(name, 1.0) for name in names}
    interleave(calls, clock, rounds=8, wanted=lambda found: names)
    rounds = [tuple(clock.order[i : i + 6]) for i in range(6, len(clock.order), 6)]
    assert len(rounds) == 8
    assert all(sorted(one) == list(names) for one in rounds)
    assert len(set(rounds)) > 4


def test_a_short_call_is_timed_many_times_at_once():
    clock = Ticking()
    calls = {"short": clock.call("short", 0.001), "long": clock.call("long", 3.0)}
    samples = interleave(calls, clock, rounds=3, wanted=lambda found: calls)
    assert clock.order.count("long") == 1 + 3
    assert clock.order.count("short") >= 3 * 10
    assert abs(samples["short"][2] - 0.001) < 1e-6


def test_a_clock_too_coarse_for_a_call_still_gives_a_ratio():
    class Coarse(Ticking):
        resolution = 1 / 64

        def elapsed(self, call, repeats):
            start = int(64 * self.now)
            super().elapsed(call, repeats)
            return (int(64 * self.now) - start) / 64

    clock = Coarse()
    calls = {"fast": clock.call("fast", 0.004), "slow": clock.call("slow", 0.008)}
    samples = interleave(calls, clock, rounds=3, wanted=lambda found: calls)
    assert abs(ratio(samples, "slow", "fast").figure - 2) < 0.05
