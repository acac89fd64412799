import json
from dataclasses import MISSING, asdict, fields

import pytest

from attncost import AttnCostError
from attncost.measure.store.sample import AXES, Sample, Skipped
from attncost.measure.subjects.case import Case
from attncost.measure.sweep.plan import Plan


def test_cases_are_the_product_of_all_axes_with_short_lengths_first():
    plan = Plan(lengths=(8, 16), batches=(1, 4), modes=("forward", "training"))
    assert plan.cases() == tuple(
        Case(length=n, batch=b, mode=m)
        for n in (8, 16)
        for b in (1, 4)
        for m in ("forward", "training")
    )
    assert [case.series for case in plan.series()] == [
        "",
        "training",
        "batch 4",
        "batch 4, training",
    ]


def test_the_order_of_a_round_depends_on_seed_and_round_alone():
    cells = list(range(20))
    plan = Plan(lengths=(8,), seed=3)
    orders = [plan.order(cells, number) for number in range(9)]
    assert all(sorted(order) == cells for order in orders)
    assert len({tuple(order) for order in orders}) == 9
    assert plan.order(cells, 7) == orders[7]
    assert Plan(lengths=(8,), seed=4).order(cells, 7) != orders[7]
    assert cells == list(range(20))


def test_a_plan_survives_json():
    plan = Plan(
        lengths=(8, 16),
        batches=(1, 4),
        dtypes=("bfloat16",),
        threads=(2,),
        modes=("decode",),
        rounds=5,
        seed=1,
        budget=3.5,
        enough=0.2,
    )
    assert Plan.of(json.loads(json.dumps(plan.written()))) == plan


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"rounds": "many"}, "plan.rounds must be a whole number, got 'many'"),
        ({"rounds": 3.5}, "plan.rounds must be a whole number, got 3.5"),
        ({"rounds": True}, "plan.rounds must be a whole number, got True"),
        ({"rounds": 10**400}, "plan.rounds must be a whole number, got 1000"),
        ({"rounds": 10**12}, "rounds must be at least 1 and at most 1,000,000,000, got 1000"),
        ({"lengths": None}, "plan.lengths must be a list of whole numbers, got None"),
        ({"lengths": [8.0, 16.5]}, r"must be a list of whole numbers, got \[8.0, 16.5\]"),
        ({"seed": [1, 2]}, r"plan.seed must be a whole number, got \[1, 2\]"),
        ({"budget": float("nan")}, "plan.budget must be a number or null, got nan"),
        ({"enough": 10**400}, "plan.enough must be a number or null, got 1000"),
        ({"device": 7}, "plan.device must be a text, got 7"),
        ({"modes": ["forward", 1]}, "plan.modes must be a list of texts, got"),
    ],
)
def test_what_is_no_plan_is_refused(broken, reason):
    written = json.loads(json.dumps(Plan(lengths=(8,)).written()))
    assert Plan.of(written) == Plan(lengths=(8,))
    with pytest.raises(AttnCostError, match=reason):
        Plan.of({**written, **broken})


def test_a_plan_that_says_too_little_or_is_none_is_refused():
    with pytest.raises(
        AttnCostError, match=r"plan\.lengths must be a list of whole numbers, got none"
    ):
        Plan.of({})
    with pytest.raises(AttnCostError, match="plan must be an object of JSON, got 7"):
        Plan.of(7)


@pytest.mark.parametrize(
    ("wishes", "reason"),
    [
        ({"lengths": ()}, "lengths must be positive and strictly increasing, .* got none"),
        ({"lengths": (0, 8)}, "got 0,8"),
        ({"lengths": (8, 8)}, "got 8,8"),
        ({"lengths": (16, 8)}, "got 16,8"),
        (
            {"lengths": (8,), "rounds": 0},
            "rounds must be at least 1 and at most 1,000,000,000, got 0",
        ),
        ({"lengths": (8,), "budget": 0.0}, "budget must be a positive number of seconds, got 0"),
        ({"lengths": (8,), "budget": float("nan")}, "got nan"),
        ({"lengths": (8,), "enough": 0.0}, "enough must be a positive width of an interval"),
        ({"lengths": (8,), "enough": float("inf")}, "such as 0.1, got inf"),
        ({"lengths": (8,), "budget": float("inf")}, "positive number of seconds, got inf"),
        ({"lengths": (8,), "threads": (1025,)}, "threads must lie between 1 and 1,024, got 1025"),
        ({"lengths": (8,), "batches": ()}, "batches must be one or more that differ, got none"),
        ({"lengths": (8,), "threads": (2, 2)}, "threads must be one or more .* got 2,2"),
        ({"lengths": (8,), "modes": ("training", "backward")}, "no mode is called 'backward'"),
        ({"lengths": (8,), "dtypes": ("float33",)}, "did you mean 'float32'"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wishes, reason):
    with pytest.raises(AttnCostError, match=reason):
        Plan(**wishes)


def test_axes_are_told_alike_wherever_a_cell_is_written_down():
    usual = {axis.name: axis.default for axis in fields(Case) if axis.name != "length"}
    assert usual.keys() == AXES.keys()
    for row in (Sample, Skipped):
        defaults = {one.name: one.default for one in fields(row)}
        assert all(defaults[name] in (default, MISSING) for name, default in usual.items())
    (only,) = Plan(lengths=(8,)).series()
    assert asdict(only) == {"length": 8, **usual}
