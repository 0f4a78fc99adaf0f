from agent_cli.agent import model_context


def test_the_estimate_comes_nearer_to_what_the_server_counts(db):
    assert model_context.token_factor(db, "m") == 1
    for _ in range(20):
        model_context.learn_factor(db, "m", 1000, 1300)

    assert 1.2 < model_context.token_factor(db, "m") <= 1.3
    assert model_context.token_factor(db, "other") == 1


def test_a_count_without_what_was_cached_teaches_nothing(db):
    model_context.learn_factor(db, "m", 1000, 26)
    model_context.learn_factor(db, "m", 0, 26)

    assert model_context.token_factor(db, "m") == 1


def test_one_wild_count_moves_it_little(db):
    model_context.learn_factor(db, "m", 100, 100_000)

    assert model_context.token_factor(db, "m") == 1.3
