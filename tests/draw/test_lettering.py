from attncost.draw.lettering import width, wrapped


def test_no_line_is_wider_than_its_room_and_no_letter_is_lost():
    text = "a window of (width=513, ahead=256) averyveryverylongwordwithoutanybreakinit 変換器"
    for room in (40, 80, 120, 500):
        lines = wrapped(text, room)
        assert all(width(line) <= room for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())


def test_lines_break_between_words_where_words_fit():
    assert wrapped("one two", 1000) == ("one two",)
    assert wrapped("one two", width("one two") - 1) == ("one", "two")
    assert wrapped("", 10) == ("",)
