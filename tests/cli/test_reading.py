from populace.cli.reading import memory_kinds


def test_known_kinds_of_memories_come_first_and_others_by_name() -> None:
    kinds = ["zest", "plan", "deed", "awe", "reflection", "plan", "mood", "bliss", "deed"]
    assert memory_kinds(kinds, {"deed"}) == ["reflection", "plan", "awe", "bliss", "mood", "zest"]
