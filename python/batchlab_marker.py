"""Tells batchlab what a training script is doing (marker protocol, version 1).

One file, standard library only, Python 3.7 and later. Copy it beside your script or put it on PYTHONPATH.
Where the script does not run under batchlab (neither BATCHLAB_FD nor BATCHLAB_SOCKET is set), or batchlab has gone,
everything here does nothing; nothing here ever fails the training. Where mpirun, srun or torchrun start the script
several times, only rank 0 speaks, or the one that BATCHLAB_RANK names.

The whole change to a script:

    from batchlab_marker import track
    for images, labels in track(loader, batch_size):
        ...

Or, with more to say:

    from batchlab_marker import Marker
    with Marker(program="train.py", batch=batch_size) as marker:
        for images, labels in marker.track(loader, batch_size):
            loss = ...
            marker.loss = loss            # a float, or anything float() takes; read only when batchlab listens
        with marker.phase("eval"):
            ...
        marker.metric("top1", accuracy)

How noisy the gradient is tells an order of magnitude of the batch size from which on samples are wasted. Now and then,
between two steps and with the weights held, take gradients over a few micro-batches (say 16 of 8 samples, several times):

    norms = [sum(float(g.pow(2).sum()) for g in gradients) for gradients in micro_batches]
    mean = [sum(parts) / len(parts) for parts in zip(*micro_batches)]
    marker.noise(8, 8 * len(norms), sum(norms) / len(norms), sum(float(g.pow(2).sum()) for g in mean))

On an accelerator a step is over when its work is done, not when it is queued: give track() a `synchronize`
function (torch.cuda.synchronize), which is called before each time is taken.

Copyright the batchlab authors. SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import json
import math
import os
import select
import socket
import stat
import time

VERSION = 1
_PATIENCE_S = 0.2

__all__ = ["Marker", "track"]


class Marker:
    """Writes markers. Use it as a context manager: `done` is said at a good end, `oom` where memory ran out."""

    def __init__(self, program="", program_version="", precision="", ranks=1, batch=0, fd=None):
        self.loss = None
        self._fd = None
        self._socket = None
        self._in_line = False
        self._stuck = False
        self._ready = False
        try:
            self._fd = _inherited() if fd is None else int(fd)
            if self._fd is None:
                self._socket = _connect()
                self._fd = self._socket.fileno() if self._socket else None
            elif stat.S_ISSOCK(os.fstat(self._fd).st_mode):
                self._socket = socket.socket(fileno=os.dup(self._fd))
        except (ValueError, OverflowError, OSError):
            self._fd = None
        self._say(type="hello", version=VERSION, program=str(program), program_version=str(program_version),
                  precision=str(precision), ranks=int(ranks), batch=int(batch))

    @property
    def listening(self):
        """Whether batchlab reads what is said."""
        return self._fd is not None

    def ready(self):
        """Set-up is over; the first step begins. track() says so by itself."""
        self._ready = True
        self._say(type="ready", t_ns=time.monotonic_ns())

    def step(self, samples, loss=None, wait_ns=None):
        """A training step over `samples` samples has just ended."""
        if self._fd is None:
            return
        fields = {"type": "step", "samples": int(samples), "t_ns": time.monotonic_ns()}
        if loss is not None:
            fields["loss"] = _number(loss)
        if wait_ns is not None:
            fields["wait_ns"] = int(wait_ns)
        self._say(**fields)

    def track(self, loader, batch_size=None, synchronize=None):
        """Iterates over `loader`; each turn of the loop is one step.

        `batch_size` is a number, or a function that gives the number of samples of a batch; without it the length of
        the batch's first tensor is taken. The time spent waiting for the loader is reported as data wait."""
        if not self._ready:
            self.ready()
        batches = iter(loader)
        while True:
            before = time.monotonic_ns()
            try:
                batch = next(batches)
            except StopIteration:
                return
            wait_ns = time.monotonic_ns() - before
            self.loss = None
            yield batch
            if self._fd is not None:
                if synchronize is not None:
                    synchronize()
                self.step(_samples(batch, batch_size), self.loss, wait_ns)

    @contextlib.contextmanager
    def phase(self, name):
        """What runs inside ("eval", "checkpoint") does not count as training."""
        self._say(type="phase", name=str(name), t_ns=time.monotonic_ns())
        try:
            yield self
        finally:
            self._say(type="phase", name="train", t_ns=time.monotonic_ns())

    def memory(self, kind, bytes):
        """Memory of a kind that the program knows of, such as "device allocated"."""
        self._say(type="memory", kind=str(kind), bytes=int(bytes))

    def metric(self, name, value):
        """A figure such as "top1"; one that is not finite is not sent."""
        value = _number(value)
        if value is not None:
            self._say(type="metric", name=str(name), value=value, t_ns=time.monotonic_ns())

    def noise(self, small, big, small_sq, big_sq, scaled=False):
        """Squared norms of gradients at the same weights: `small_sq` is the mean over gradients of `small` samples each,
        `big_sq` that of their mean, over `big` samples. `scaled`: both are sums of g^2 / (sqrt(v) + eps), Adam's v."""
        small_sq, big_sq = _number(small_sq), _number(big_sq)
        if small_sq is not None and big_sq is not None:
            self._say(type="noise", small=int(small), big=int(big), small_sq=small_sq, big_sq=big_sq,
                      scaled=bool(scaled), t_ns=time.monotonic_ns())

    def oom(self, bytes=0):
        """Memory ran out."""
        self._say(type="oom", bytes=int(bytes))

    def done(self):
        """All is done."""
        self._say(type="done", t_ns=time.monotonic_ns())

    def close(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._fd = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.done()
        elif issubclass(kind, MemoryError) or kind.__name__ == "OutOfMemoryError" or "out of memory" in str(error):
            self.oom()
        self.close()
        return False

    def _say(self, **fields):
        if self._fd is None:
            return
        line = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        if self._in_line:
            line = b"\n" + line
        try:
            sent = self._send(line)
            self._in_line = sent < len(line) if sent else self._in_line
        except (OSError, ValueError):
            self._fd = None  # nobody listens any more

    def _send(self, line):
        """Writes the line; what the reader does not take within a moment is dropped."""
        sent = 0
        give_up = time.monotonic() + (0 if self._stuck else _PATIENCE_S)
        while sent < len(line):
            try:
                if self._socket is not None:
                    sent += self._socket.send(line[sent:], socket.MSG_DONTWAIT)
                    continue
                if select.select([], [self._fd], [], 0)[1]:
                    sent += os.write(self._fd, line[sent:])
                    continue
            except BlockingIOError:
                pass
            left = give_up - time.monotonic()
            if left <= 0:
                break
            select.select([], [self._fd], [], left)
        self._stuck = sent < len(line)
        return sent


def track(loader, batch_size=None, synchronize=None):
    """for batch in track(loader, batch_size): the whole change to a script."""
    size = batch_size if isinstance(batch_size, int) else 0
    with Marker(batch=size) as marker:
        for batch in marker.track(loader, batch_size, synchronize):
            yield batch


def _environment(name, missing):
    """A whole number from the environment."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else missing


def _inherited():
    """The descriptor that batchlab gave, or None: a launcher may have closed it, and another file may have its number."""
    fd, inode = _environment("BATCHLAB_FD", None), _environment("BATCHLAB_FD_INODE", None)
    try:
        at = os.fstat(fd) if fd is not None else None
    except (OSError, OverflowError):
        return None
    if at is None or (inode is not None and not (stat.S_ISSOCK(at.st_mode) and at.st_ino == inode)):
        return None
    return fd


def _rank():
    """The number of this process among those of one training, as its launcher tells; 0 where none does."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"):
        rank = _environment(name, None)
        if rank is not None:
            return rank
    return 0


def _connect():
    """A connection to the socket that BATCHLAB_SOCKET names, or None."""
    name = os.environ.get("BATCHLAB_SOCKET", "")
    if len(name) < 2 or _rank() != _environment("BATCHLAB_RANK", 0):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect("\0" + name[1:] if name[0] == "@" else name)
    except (OSError, ValueError):
        connection.close()
        return None
    return connection


def _number(value):
    """A finite float, or None."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _length(thing):
    try:
        return len(thing)
    except TypeError:
        return None


def _samples(batch, batch_size):
    """How many samples a batch holds: the last one of an epoch may hold fewer than batch_size."""
    if callable(batch_size):
        return batch_size(batch)
    first = next(iter(batch.values()), None) if isinstance(batch, dict) else batch
    if isinstance(first, (list, tuple)) and first:
        first = first[0]  # (images, labels)
    length = _length(first)
    if batch_size is None:
        if length is None:
            raise TypeError("track(): the batch has no length; pass batch_size")
        return length
    if length is None or batch_size in (length, _length(batch)):
        return batch_size
    return length if 0 < length < batch_size else batch_size
