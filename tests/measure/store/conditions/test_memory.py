import pytest

from attncost.measure.store.conditions.memory import memory


def test_memory_and_pages_are_read_as_linux_writes_them(tmp_path):
    pages = tmp_path / "sys/kernel/mm/transparent_hugepage"
    pages.mkdir(parents=True)
    (pages / "enabled").write_text("always [madvise] never\n")
    (pages / "defrag").write_text("always defer [never]\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:  24684096 kB\nMemAvailable: 23111608 kB\n")
    found = memory(tmp_path)
    assert found["memory"] == 24684096 * 1024
    assert found["memory_available"] == 23111608 * 1024
    assert (found["huge_pages"], found["huge_pages_defrag"]) == ("madvise", "never")
    (tmp_path / "proc/self/status").write_text("Name:\tpython\nTHP_enabled:\t0\n")
    assert memory(tmp_path)["huge_pages"] == "never, for this process"


@pytest.mark.parametrize(
    ("mapped", "named"),
    [
        (["/usr/lib/libtcmalloc_minimal.so.4", "/usr/lib/libc.so.6"], "libtcmalloc_minimal.so.4"),
        (["/a/libmimalloc.so", "/a/libjemalloc.so.2"], "libjemalloc.so.2, libmimalloc.so"),
    ],
)
def test_an_allocator_beside_the_c_library_is_named_without_its_folder(mapped, named, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    lines = [f"7f00-7f01 r-xp 00000000 fe:00 7  {name}" for name in mapped]
    (tmp_path / "proc/self/maps").write_text("\n".join(["7f00-7f01 rw-p 0 00:00 0", *lines]))
    assert memory(tmp_path)["allocator"] == named


def test_what_the_system_does_not_tell_is_none(tmp_path):
    found = memory(tmp_path)
    unknown = ("memory", "memory_available", "huge_pages", "huge_pages_defrag")
    assert [found[name] for name in unknown] == [None] * len(unknown)
