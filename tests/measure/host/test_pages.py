from tests.measure.host.written import written

from attncost.measure.host.pages import defragmented, huge_pages

FOLDER = "sys/kernel/mm/transparent_hugepage"


def test_the_word_in_brackets_is_what_is_chosen(tmp_path):
    assert (huge_pages(tmp_path), defragmented(tmp_path)) == (None, None)
    written(
        tmp_path,
        {
            f"{FOLDER}/enabled": "always [madvise] never\n",
            f"{FOLDER}/defrag": "always defer [never]\n",
        },
    )
    assert (huge_pages(tmp_path), defragmented(tmp_path)) == ("madvise", "never")
    written(tmp_path, {"proc/self/status": "Name:\tpython\nTHP_enabled:\t0\n"})
    assert huge_pages(tmp_path) == "never, for this process"
