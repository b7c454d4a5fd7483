"""A program that speaks the protocol of docs/protocol.md, in the standard library alone: right, or wrong in one way.

Every entry becomes its nearest value in float32: itself. What goes wrong is named by the only argument.
"""

import array
import json
import os
import signal
import sys
import time


def answer(header, data, wrong):
    """The reply to one request, or something else."""
    form = header["arrays"][0]
    n = form["shape"][0]
    if wrong == "prints" and n == 8:
        print("debug: eight entries")
    if wrong == "dies" and n == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if wrong == "exits" and not any(data):
        raise SystemExit(3)
    if wrong == "hangs" and n == 3:
        time.sleep(3600)
    if wrong == "forgets" and n == 2:
        return
    if wrong == "widens":
        form, data = {**form, "dtype": "float64"}, array.array("d", array.array("f", data)).tobytes()
    if wrong == "shortens":
        form, data = {**form, "shape": [n - 1]}, data[4:]
    if wrong == "cuts":
        data = data[:-2]
    if wrong == "swaps":
        values = array.array("f", data)
        values.byteswap()
        data = values.tobytes()
    if wrong == "refuses" and n > 40:
        sys.stdout.buffer.write(b'{"error": "more than 40 entries"}\n')
        return
    sys.stdout.buffer.write(json.dumps({"arrays": [form]}).encode() + b"\n" + data)


def main(wrong):
    """Answer until the end of the requests."""
    for line in iter(sys.stdin.buffer.readline, b""):
        header = json.loads(line)
        if header["op"] == "hello":
            sys.stdout.write('{"protocol": 1}\n')
        else:
            answer(header, sys.stdin.buffer.read(4 * header["arrays"][0]["shape"][0]), wrong)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
