import os
import socket
import subprocess
import sys

from agent_cli.store import holder

ME = "from agent_cli.store import holder; print(holder.this_process(), flush=True); input()"


def started():
    return subprocess.Popen([sys.executable, "-c", ME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_this_process_lives_one_with_its_number_does_not_and_that_of_another_machine_is_taken_to():
    host, pid, ticks = holder.this_process().rsplit("/", 2)
    assert (host, int(pid)) == (socket.gethostname(), os.getpid())
    alive = [holder.this_process(), f"{host}/{pid}/{int(ticks) - 1}", "elsewhere/1/2"]
    assert [holder.is_alive(each) for each in alive] == [True, False, True]


def test_a_process_lives_until_it_is_killed_and_a_zombie_does_not():
    process = started()
    name = process.stdout.readline().strip()
    assert holder.is_alive(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has fetched it
    assert not holder.is_alive(name)
    process.communicate()
    assert not holder.is_alive(name)


def test_a_child_is_not_taken_for_its_parent():
    script = (
        "import os; from agent_cli.store.holder import this_process; this_process(); "
        "os.fork(); os.write(1, f'{this_process()}\\n'.encode())"
    )
    names = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert len(set(names)) == 2
