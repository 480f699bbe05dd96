"""Ed25519 signatures of certificates (`cryptography`, the extra `sign`)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tclose.errors import DataError, UsageError
from tclose.small_files import read_small_file
from tclose.verify.certificate import Certificate, SignatureRecord
from tclose.verify.recheck import Check

MAKE = (
    "openssl genpkey -algorithm ed25519 -out steward.pem; "
    "openssl pkey -in steward.pem -pubout -out steward.pub"
)
LINE = "signature"
MOST_BYTES = 1 << 20
"""The largest file that is read as a key."""


def sign_certificate(certificate: Certificate, key: str | Path) -> Certificate:
    """The certificate with a signature of all its other lines; `key` is a private key (PEM)."""
    crypto = _load_library()
    private = _read_key(key, lambda text: crypto.load_pem_private_key(text, None))
    if not isinstance(private, crypto.Ed25519PrivateKey):
        raise DataError("this is not a private Ed25519 key", where=str(key), hint=MAKE)
    signature = SignatureRecord(
        public_key=_write(private.public_key().public_bytes_raw()),
        value=_write(private.sign(_list_signed(certificate))),
    )
    return certificate.model_copy(update={"signature": signature})


def check_signature(certificate: Certificate, key: str | Path | None) -> tuple[Check, ...]:
    """Whether the holder of a key signed the certificate as it is; `key` is the public one (PEM).

    Without a key, a signature is only seen to be there: anybody could have made it.
    """
    signature = certificate.signature
    if key is None:
        words = "whose it is takes a key (--key)"
        return () if signature is None else (Check(LINE, "signed", words, None),)
    crypto = _load_library()
    public = _read_key(key, crypto.load_pem_public_key)
    if not isinstance(public, crypto.Ed25519PublicKey):
        raise DataError("this is not a public Ed25519 key", where=str(key), hint=MAKE)
    if signature is None:
        return (Check(LINE, "none", "a signature is asked for (--key)", False),)
    if signature.public_key != _write(public.public_bytes_raw()):
        return (Check(LINE, "signed", "by another key", False),)
    try:
        public.verify(b64decode(signature.value), _list_signed(certificate))
    except (crypto.InvalidSignature, ValueError):
        return (Check(LINE, "signed", "of other lines than these", False),)
    return (Check(LINE, "signed", "by this key", True),)


def _list_signed(certificate: Certificate) -> bytes:
    """All lines but the signature itself, in one form for all ways of writing them."""
    lines = certificate.model_copy(update={"signature": None}).to_json()
    return json.dumps(lines, sort_keys=True, separators=(",", ":")).encode()


def _write(raw: bytes) -> str:
    return b64encode(raw).decode("ascii")


def _read_key(path: str | Path, parse: Any) -> Any:
    try:
        return parse(read_small_file(path, MOST_BYTES, may_be_pipe=True))
    except OSError as error:
        what = f"the key cannot be read ({error.strerror})"
        raise DataError(what, where=str(path), hint=f"make one: {MAKE}") from None
    except (ValueError, TypeError):
        what = "this is not a PEM key without a password"
        raise DataError(what, where=str(path), hint=f"make one: {MAKE}") from None


def _load_library() -> SimpleNamespace:
    """What signing needs of `cryptography`, in one place."""
    try:
        form = import_module("cryptography.hazmat.primitives.serialization")
        keys = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
        errors = import_module("cryptography.exceptions")
    except ModuleNotFoundError:
        hint = "pip install 'tclose[sign]'"
        raise UsageError("signatures need the package cryptography", hint=hint) from None
    return SimpleNamespace(
        load_pem_private_key=form.load_pem_private_key,
        load_pem_public_key=form.load_pem_public_key,
        Ed25519PrivateKey=keys.Ed25519PrivateKey,
        Ed25519PublicKey=keys.Ed25519PublicKey,
        InvalidSignature=errors.InvalidSignature,
    )
