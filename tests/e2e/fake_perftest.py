#!/usr/bin/env python3
"""Stands in for perftest's programs under their names: a server waits on its TCP port of the loopback interface, a client
connects to it, and both print the table of the real ones. Knows its behaviour from FAKE_PERFTEST, JSON: device -> {"gbits",
"us", "exit", "say", "hang"}. Keeps nothing but a line for each call in the file FAKE_PERFTEST_LOG."""
import json
import os
import pathlib
import socket
import sys
import time


def arguments(words):
    """Options with their values, and the server's address where this is a client."""
    valued, found, address = ("-d", "-i", "-p", "-s", "-n", "-c"), {}, None
    words = iter(words)
    for word in words:
        if word in valued:
            found[word] = next(words)
        elif word.startswith("-"):
            found[word] = True
        else:
            address = word
    return found, address


def meet(port, address):
    """Both sides are there from here on."""
    if address is None:
        with socket.create_server(("127.0.0.1", port)) as server:
            server.accept()[0].close()
        return
    try:
        socket.create_connection((address, port)).close()
    except OSError:
        print(f" Couldn't connect to {address}:{port}", file=sys.stderr)
        sys.exit(1)


def main():
    program = pathlib.Path(sys.argv[0]).name
    options, address = arguments(sys.argv[1:])
    behaviour = json.loads(os.environ.get("FAKE_PERFTEST", "{}")).get(options["-d"], {})
    with open(os.environ["FAKE_PERFTEST_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps([program, os.getpid(), sys.argv[1:]]) + "\n")
    if address is None or not behaviour.get("exit"):
        meet(int(options["-p"]), address)
    print("-" * 88 + f"\n                    {program} Test\n Dual-port       : OFF\t\tDevice         : {options['-d']}")
    if behaviour.get("hang") and address is not None:
        sys.stdout.flush()
        time.sleep(600)
    if behaviour.get("say"):
        print(f" {behaviour['say']}", file=sys.stderr)
    if behaviour.get("exit"):
        sys.exit(behaviour["exit"])
    if program == "ib_send_lat":
        print(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
              "99% percentile[usec]   99.9% percentile[usec] ")
        print(f" 2       1000          1.00           9.00         {behaviour.get('us', 1.5):.2f}     2.00   0.10   3.0   4.0")
    else:
        assert "--report_gbits" in options
        rate = behaviour.get("gbits", 390)
        print(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
        print(f" {options['-s']}    {options['-n']}             {rate + 2:.2f}             {rate:.2f}             0.046")
    print("-" * 88)


if __name__ == "__main__":
    main()
