"""The stand-ins by themselves, called from two processes without MPI: a peer that dies or does not come, errors that
stay, groups that fail."""
import ctypes
import subprocess
import sys
import time
import unittest

import support

COUNT = 1024
SUCCESS, INTERNAL_ERROR, REMOTE_ERROR = 0, 3, 6
NOT_READY, OUT_OF_MEMORY, LAUNCH_FAILURE = 600, 2, 719
FLOAT32, SUM, TO_DEVICE, FROM_DEVICE, NON_BLOCKING = 7, 0, 1, 2, 1
SECONDS = 20


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Rank:
    """One GPU, one stream and a buffer; what a rank of the product calls."""

    def __init__(self):
        self.cuda = ctypes.CDLL(next(str(path) for path in (support.VIRTUAL / "lib").glob("libcudart.so.*")))
        self.nccl = ctypes.CDLL(str(support.VIRTUAL / "lib" / "libnccl.so.2"))
        self.stream, self.buffer, self.communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()

    def open(self):
        assert self.cuda.cudaStreamCreateWithFlags(ctypes.byref(self.stream), NON_BLOCKING) == 0
        assert self.cuda.cudaMalloc(ctypes.byref(self.buffer), ctypes.c_size_t(4 * COUNT)) == 0

    def join(self, identity, rank, ranks=2):
        return self.nccl.ncclCommInitRank(ctypes.byref(self.communicator), ranks, identity, rank)

    def copy(self, target, source, kind):
        return self.cuda.cudaMemcpyAsync(target, source, ctypes.c_size_t(4 * COUNT), kind, self.stream)

    def upload(self, value):
        values = (ctypes.c_float * COUNT)(*([value] * COUNT))
        assert self.copy(self.buffer, values, TO_DEVICE) == 0 and self.wait() == 0

    def download(self):
        values = (ctypes.c_float * COUNT)()
        assert self.copy(values, self.buffer, FROM_DEVICE) == 0 and self.wait() == 0
        return set(values)

    def reduce(self):
        return self.nccl.ncclAllReduce(self.buffer, self.buffer, ctypes.c_size_t(COUNT), FLOAT32, SUM,
                                       self.communicator, self.stream)

    def error(self):
        result = ctypes.c_int()
        assert self.nccl.ncclCommGetAsyncError(self.communicator, ctypes.byref(result)) == 0
        return result.value

    def wait(self, seconds=SECONDS):
        """What the stream says when it is done, NCCL has met an error, or the time is over."""
        end = time.monotonic() + seconds
        while True:
            status = self.cuda.cudaStreamQuery(self.stream)
            if status != NOT_READY or time.monotonic() > end or (self.communicator and self.error() != SUCCESS):
                return status


def peer(what, rank, identity):
    """Rank `rank` of two: takes part in one all-reduce, then does as it is told."""
    one = Rank()
    one.open()
    assert one.join(identity, rank) == SUCCESS
    one.upload(rank + 1.0)
    assert one.reduce() == SUCCESS and one.wait() == SUCCESS
    print("sum", *one.download(), flush=True)
    if what == "stays away":
        sys.stdin.read()
        return
    assert one.reduce() == SUCCESS
    print("asked", flush=True)
    status = one.wait(0.5 if what == "waits" else SECONDS)
    print("status", status, "error", one.error(), "abort", one.nccl.ncclCommAbort(one.communicator), flush=True)
    one.communicator = None
    print("after", one.wait(), flush=True)


class TwoProcesses(unittest.TestCase):
    def pair(self, first, second, kill=False):
        """The lines that two ranks print; the second is killed when the first has asked for its second sum."""
        with support.Machine("p5", support.first(1)) as machine:
            environment = machine.environment({"CLAIMCHECK_VIRTUAL": support.VIRTUAL})
            ranks = [subprocess.Popen([sys.executable, __file__, "--peer", what, str(rank)], env=environment,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
                     for rank, what in enumerate((first, second))]
            ranks[1].stdin.write(ranks[0].stdout.readline())
            ranks[1].stdin.flush()
            out = [[ranks[0].stdout.readline().strip(), ranks[0].stdout.readline().strip()]]
            told = []
            if kill:  # what it has to say first, it may say later than the other asks
                told = [ranks[1].stdout.readline().strip()]
                ranks[1].kill()
            out[0] += ranks[0].stdout.read().splitlines()
            ranks[0].wait(SECONDS)
            out.append(told + ranks[1].communicate(timeout=SECONDS)[0].splitlines())
            ranks[0].stdin.close()
            ranks[0].stdout.close()
            return out

    def test_sums_over_both(self):
        one, other = self.pair("again", "again")
        # 1 + 2, and then in place the sum of the sums.
        self.assertEqual(one, ["sum 3.0", "asked", "status 0 error 0 abort 0", "after 0"])
        self.assertEqual(other, one)

    def test_a_peer_that_is_killed_is_an_error_of_the_other(self):
        one, other = self.pair("again", "stays away", kill=True)
        self.assertEqual(one, ["sum 3.0", "asked", f"status {NOT_READY} error {REMOTE_ERROR} abort 0", "after 0"])
        self.assertEqual(other, ["sum 3.0"])

    def test_a_peer_that_does_not_come_is_waited_for_until_aborted(self):
        one, other = self.pair("waits", "stays away")
        self.assertEqual(one, ["sum 3.0", "asked", f"status {NOT_READY} error 0 abort 0", "after 0"])
        self.assertEqual(other, ["sum 3.0"])


def alone(call):
    """What `call` of this file prints in a process of its own, with one call that fails."""
    name, order = call
    with support.Machine("p5", support.first(1)) as machine:
        environment = machine.environment({"CLAIMCHECK_VIRTUAL_FAIL": order, "CLAIMCHECK_VIRTUAL": support.VIRTUAL})
        return subprocess.run([sys.executable, __file__, "--alone", name], env=environment, check=True, timeout=60,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout.split()


def group():
    """Of ncclGroupStart, ncclAllReduce, ncclGroupEnd, and of ncclAllReduce after it."""
    one, identity = Rank(), UniqueId()
    one.open()
    assert one.nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0 and one.join(identity, 0, 1) == 0
    return one.nccl.ncclGroupStart(), one.reduce(), one.nccl.ncclGroupEnd(), one.reduce()


def memory():
    """Of cudaMalloc, and of what comes after it."""
    one = Rank()
    size = ctypes.c_size_t(4096)
    return (one.cuda.cudaMalloc(ctypes.byref(one.buffer), size), one.cuda.cudaMalloc(ctypes.byref(one.buffer), size),
            one.cuda.cudaStreamCreateWithFlags(ctypes.byref(one.stream), NON_BLOCKING))


def query():
    one = Rank()
    one.open()
    return one.cuda.cudaStreamQuery(one.stream), one.cuda.cudaMalloc(ctypes.byref(one.buffer), ctypes.c_size_t(4096))


class Errors(unittest.TestCase):
    def check(self, name, order, *codes):
        self.assertEqual(alone((name, order)), [str(code) for code in codes])

    def test_a_call_that_fails_within_a_group_fails_the_group(self):
        self.check("group", "ncclAllReduce:1", 0, INTERNAL_ERROR, INTERNAL_ERROR, 0)

    def test_a_healthy_group(self):
        self.check("group", "ncclAllReduce:9", 0, 0, 0, 0)

    def test_what_ends_a_context_stays(self):
        self.check("memory", f"cudaMalloc:1:{LAUNCH_FAILURE}", LAUNCH_FAILURE, LAUNCH_FAILURE, LAUNCH_FAILURE)
        self.check("query", "cudaStreamQuery:1", LAUNCH_FAILURE, LAUNCH_FAILURE)

    def test_what_does_not_end_a_context_is_over(self):
        self.check("memory", "cudaMalloc:1", OUT_OF_MEMORY, 0, 0)


def main():
    if sys.argv[1:2] == ["--alone"]:
        print(*globals()[sys.argv[2]]())
    elif sys.argv[1:2] == ["--peer"]:
        what, rank, identity = sys.argv[2], int(sys.argv[3]), UniqueId()
        if rank == 0:
            assert Rank().nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
            print(bytes(identity).hex(), flush=True)
        else:
            identity = UniqueId.from_buffer_copy(bytes.fromhex(sys.stdin.readline()))
        peer(what, rank, identity)
    else:
        unittest.main()


if __name__ == "__main__":
    main()
