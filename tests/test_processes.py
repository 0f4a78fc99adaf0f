"""What is at a terminal, as the system lists it."""

from agent_cli.presence import processes

TERMINAL, OTHER = 34_816, 34_817


def test_what_a_process_started_comes_behind_it_though_numbers_began_anew(tmp_path, monkeypatch):
    listed = {7: ("S", TERMINAL, 50), 305: ("S", TERMINAL, 92), 306: ("S", OTHER, 93), 307: ("Z", TERMINAL, 94)}
    listed |= {32_755: ("S", TERMINAL, 90), 32_760: ("S", TERMINAL, 91)}
    for pid, (state, terminal, start) in listed.items():
        (tmp_path / str(pid)).mkdir()
        between = " ".join("0" for _ in range(14))
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a (b) c) {state} 1 1 1 {terminal} {between} {start} 0\n")
    (tmp_path / "self").mkdir()
    monkeypatch.setattr(processes, "_PROC", tmp_path)

    assert list(processes.at_terminal_of(7)) == [32_755, 32_760, 305]
