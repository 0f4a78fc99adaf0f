from agent_cli.agent import estimate


def test_the_estimate_comes_nearer_to_what_the_server_counts(db):
    assert estimate.factor(db, "m") == 1
    for _ in range(20):
        estimate.learn(db, "m", 1000, 1300)

    assert 1.2 < estimate.factor(db, "m") <= 1.3
    assert estimate.factor(db, "other") == 1


def test_a_count_without_what_was_cached_teaches_nothing(db):
    estimate.learn(db, "m", 1000, 26)
    estimate.learn(db, "m", 0, 26)

    assert estimate.factor(db, "m") == 1


def test_one_wild_count_moves_it_little(db):
    estimate.learn(db, "m", 100, 100_000)

    assert estimate.factor(db, "m") == 1.3
