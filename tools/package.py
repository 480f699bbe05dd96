"""Builds the source archive, a wheel from it and its SBOM: python tools/package.py [FOLDER]

Equal sources give equal bytes, wherever they are built with the same Python, compiler and Cython:
every date is SOURCE_DATE_EPOCH (or that of the last commit), and no path enters the kernels.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def find_epoch() -> int:
    """The date of everything that is built, in seconds since 1970."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told is None:
        told = run(["git", "log", "-1", "--format=%ct"], ROOT)
    return int(told)


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Runs a command in a folder; what it printed. Stops with its words where it fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def build_source_archive(folder: Path, epoch: int) -> Path:
    """Builds the source archive, and packs it anew: in order, with one date and no owner."""
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    with tempfile.TemporaryDirectory() as made:
        run([sys.executable, "-c", code, made], ROOT)
        (loose,) = Path(made).glob("*.tar.gz")
        packed = io.BytesIO()
        with tarfile.open(loose) as old, tarfile.open(fileobj=packed, mode="w") as new:
            for member in sorted(old.getmembers(), key=lambda member: member.name):
                member.mtime, member.uid, member.gid = epoch, 0, 0
                member.uname = member.gname = ""
                member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                member.pax_headers = {}
                new.addfile(member, old.extractfile(member) if member.isfile() else None)
        target = folder / loose.name
        target.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))
    return target


def build_wheel(archive: Path, folder: Path, epoch: int) -> Path:
    """Builds a wheel from a source archive alone, for any machine of this kind."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made).resolve()
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        (source,) = place.iterdir()
        hidden = [f"-ffile-prefix-map={path}=." for path in (source, sys.base_prefix)]
        command = "-m pip wheel --disable-pip-version-check --no-deps --no-build-isolation".split()
        run(
            [sys.executable, *command, "--wheel-dir", str(place / "dist"), "."],
            source,
            SOURCE_DATE_EPOCH=str(epoch),
            TCLOSE_KERNELS="portable",
            CFLAGS=" ".join([os.environ.get("CFLAGS", ""), "-g0", *hidden]),
        )
        (built,) = (place / "dist").glob("*.whl")
        return Path(shutil.copy(built, folder))


def list_components(requirements: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What a package needs here, and what that needs: by name, as CycloneDX tells components."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        needed = waiting.pop()
        extras = needed.extras or {""}
        if needed.marker and not any(needed.marker.evaluate({"extra": e}) for e in extras):
            continue
        try:
            package = distribution(needed.name)
        except PackageNotFoundError:
            sys.exit(f"{needed.name} is not installed: run this in the project's environment")
        name = package.metadata["Name"].lower().replace("_", "-")
        if name in found:
            continue
        purl = f"pkg:pypi/{name}@{package.version}"
        licence = package.metadata.get("License-Expression") or package.metadata.get("License")
        found[name] = {"type": "library", "name": name, "version": package.version, "purl": purl}
        found[name]["bom-ref"] = purl
        if licence and len(licence) < 60:
            found[name]["licenses"] = [{"license": {"name": licence}}]
        waiting += [
            inner
            for inner in map(Requirement, package.requires or ())
            if inner.marker is None or inner.marker.evaluate({"extra": ""})
        ]
    return dict(sorted(found.items()))


def write_sbom(wheel: Path, folder: Path, epoch: int) -> Path:
    """Writes what a wheel is and needs, as CycloneDX 1.6: versions are those installed here."""
    with ZipFile(wheel) as packed:
        (name,) = [n for n in packed.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(packed.read(name).decode())
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    date = datetime.fromtimestamp(epoch, UTC)
    required = [text for text in metadata.get_all("Requires-Dist") or () if "extra ==" not in text]
    components = list_components(required)
    purl = f"pkg:pypi/tclose@{metadata['Version']}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": "tclose",
                "version": metadata["Version"],
                "purl": purl,
                "licenses": [{"license": {"id": metadata["License-Expression"]}}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": list(components.values()),
        "dependencies": [
            {"ref": purl, "dependsOn": [components[key]["purl"] for key in components]}
        ],
    }
    target = folder / f"{wheel.name.removesuffix('.whl')}.cdx.json"
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return target


def main(folder: Path) -> None:
    """Builds all three and prints their hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    epoch = find_epoch()
    archive = build_source_archive(folder, epoch)
    wheel = build_wheel(archive, folder, epoch)
    for file in (archive, wheel, write_sbom(wheel, folder, epoch)):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "dist").resolve())
