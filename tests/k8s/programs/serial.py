"""Prints the serial number of the certificate of NAME at HOST:PORT, as a client: HOST:PORT NAME."""

import os
import socket
import ssl
import sys

from cryptography import x509

host, port = sys.argv[1].split(":")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_cert_chain(os.environ["TENSORFLEET_TLS_CERT"], os.environ["TENSORFLEET_TLS_KEY"])
context.load_verify_locations(os.environ["TENSORFLEET_TLS_CA"])
with context.wrap_socket(socket.create_connection((host, int(port)), 5), server_hostname=sys.argv[2]) as sock:
    shown = sock.getpeercert(binary_form=True)
    assert shown is not None
    print(x509.load_der_x509_certificate(shown).serial_number)
