"""Says to be a task to those that are named, with the certificate of DIRECTORY, and prints what comes of it.

usage: intrude.py DIRECTORY TASK HOST:PORT…
"""

import sys

import tensorfleet as tf
from tensorfleet.security.settings import Security, TlsFiles
from tensorfleet.wire.connection import open_socket
from tensorfleet.wire.opening import encrypted, open_hello
from tensorfleet.wire.tls import TlsReader

directory, task, *addresses = sys.argv[1:]
security = Security(tls=TlsFiles(*(f"{directory}/{name}" for name in ("own.pem", "own-key.pem", "ca.pem"))))
for address in addresses:
    sock = open_socket([f"tcp:{address}"], 5)
    try:
        sock.settimeout(5)
        tls = encrypted(sock, security)
        assert tls is not None
        about = {"task": task, "incarnation": 12345}
        heard, _ = open_hello(tls, TlsReader(tls), about, security, address.partition(":")[0])
        print("let in as", task, "by", heard.get("task"))
    except (OSError, EOFError, tf.errors.OpError) as error:
        print("refused", type(error).__name__, error)
    finally:
        sock.close()
