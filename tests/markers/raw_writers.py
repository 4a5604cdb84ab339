"""Writes markers past the helpers, in ways that they never would: "pieces" sends lines in two halves by four writers in
turn, "crowd" comes from more connections than are kept."""
import os
import socket
import sys
import time


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("\0" + os.environ["BATCHLAB_SOCKET"][1:])
    return connection


def metric(i):
    return b'{"type":"metric","name":"m%d","value":%d}\n' % (i % 4, i)


if sys.argv[1] == "pieces":
    sockets = [connect() for _ in range(3)]
    write = [s.send for s in sockets] + [lambda line: os.write(7, line)]
    for first in range(0, 40, 4):
        for i in range(first, first + 4):
            write[i % 4](metric(i)[:9 + i % 20])
            time.sleep(0.001)
        for i in range(first, first + 4):
            write[i % 4](metric(i)[9 + i % 20:])
    os.write(7, b'{"type":"step","samples":4,"t_ns":5}\n')
else:
    for i in range(100):
        with connect() as s:
            s.send(b'{"type":"step","samples":1,"t_ns":%d}\n' % (i + 1))
        time.sleep(0.002)
    kept = []
    for i in range(60):
        kept.append(connect())
        time.sleep(0.002)
