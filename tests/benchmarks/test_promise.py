from benchmarks.promise import Promise, median_of_runs, settle


def promise(low, high, limit=4.0):
    return Promise(name="error", figure=(low + high) / 2, low=low, high=high, limit=limit)


def test_a_promise_is_missed_only_if_its_whole_interval_is_beyond(capsys):
    assert settle([promise(1, 3), promise(3, 9)]) == 0
    assert settle([promise(1, 3), promise(4.1, 9)]) == 1
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "missed: error: 6.55 [4.1, 9], promised 4"


def test_a_promise_of_a_median_has_no_slack():
    assert median_of_runs("error", [1, 9, 4], limit=4).met
    assert not median_of_runs("error", [1, 9, 4.1], limit=4).met
