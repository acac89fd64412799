from attncost.cost.memory.footprint import PARTS, Footprint


def footprint(**changed):
    given = {
        "name": "Encoder",
        "device": "cpu",
        "by_part": dict.fromkeys(PARTS, 0) | {"parameters": 3 << 20, "temporaries": 1 << 20},
        "kept": {},
        "phase": "backward",
        "module": "layers.0",
        "operation": "aten::mm",
    }
    return Footprint(**given | changed)


def test_it_is_printed_part_by_part():
    assert str(footprint()).splitlines() == [
        "Encoder on cpu: peak exactly 4.00 MiB",
        "  parameters     3.00 MiB   75.0 %",
        "  temporaries    1.00 MiB   25.0 %",
        "  when: backward of layers.0, aten::mm",
    ]


def test_what_is_not_seen_is_printed_too():
    found = str(footprint(at_least=("a " * 50 + "reason.",), module=""))
    assert "peak at least" in found
    assert "when: backward, aten::mm" in found
    assert "note: a a" in found
    assert max(map(len, found.splitlines())) <= 80


def test_nothing_at_all_is_no_error():
    nothing = dict.fromkeys(PARTS, 0)
    found = str(footprint(by_part=nothing, operation="", phase="forward", module=""))
    assert found.splitlines() == [
        "Encoder on cpu: peak exactly 0 B",
        "  when: forward, before any operation",
    ]
