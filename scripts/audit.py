"""What is installed: is it what constraints.txt pins, under which licences, with which known advisories, as which list.

    python -m scripts.audit                     # versions, licences, advisories where a feed can be reached
    python -m scripts.audit --licences          # the licence of every package
    python -m scripts.audit --sbom dist/sag.cdx.json

The exit code is 1 for a version that is not pinned or differs, and for an advisory. pip-audit asks for advisories
(PIP_AUDIT names it, kept apart so that it is no package of ours); where it has no feed, `NOT AUDITED` is printed.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
_TOOLS = {"pip", "setuptools", "wheel", "sag"}
_FEED_SECONDS = 120


def pinned(text: str) -> dict[str, str]:
    """Name → version of a constraints file.

    Raises:
        ValueError: If a line does not pin exactly one version.
    """
    found: dict[str, str] = {}
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        try:
            specifiers = list((requirement := Requirement(line)).specifier)
        except InvalidRequirement as error:
            raise ValueError(f"{line!r} is no requirement: {error}") from error
        if len(specifiers) != 1 or specifiers[0].operator != "==" or "*" in specifiers[0].version:
            raise ValueError(f"{line!r} does not pin one version; write name==version")
        found[canonicalize_name(requirement.name)] = specifiers[0].version
    return found


def differences(installed: Mapping[str, str], pins: Mapping[str, str]) -> Iterator[str]:
    """What is installed in another version than pinned, or not pinned at all."""
    for name, version in sorted(installed.items()):
        if name in _TOOLS:
            continue
        if name not in pins:
            yield f"{name} {version} is not in constraints.txt"
        elif pins[name] != version:
            yield f"{name} is {version}, constraints.txt pins {pins[name]}"


def licence_of(package: Distribution) -> str:
    """The licence a package names, short; `unknown` if it names none."""
    said = package.metadata
    classified = [c.rpartition(" :: ")[2] for c in said.get_all("Classifier") or [] if c.startswith("License ::")]
    words = (said.get("License-Expression") or " / ".join(classified) or said.get("License") or "").strip()
    return words.splitlines()[0][:60] if words else "unknown"


def bill_of_materials(packages: list[Distribution]) -> dict[str, object]:
    """The packages as CycloneDX 1.6, in order of their names; the same packages give the same bill."""
    components = [
        {
            "type": "library",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:pypi/{canonicalize_name(package.name)}@{package.version}",
            "bom-ref": f"{canonicalize_name(package.name)}@{package.version}",
            "licenses": [{"license": {"name": licence_of(package)}}],
        }
        for package in packages
    ]
    own = [c for c in components if c["name"] == "sag"]
    others = [c for c in components if c["name"] != "sag"]
    metadata = {"component": own[0] | {"type": "application"}} if own else {}
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": metadata, "components": others}


def advisories() -> tuple[bool, str]:
    """Whether no advisory is known (True also: nobody could be asked), and what there is to say."""
    tool, pins = os.environ.get("PIP_AUDIT", "pip-audit"), str(ROOT / "constraints.txt")
    command = [tool, "--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json", "-r", pins]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FEED_SECONDS, check=False)  # noqa: S603
        return verdict(json.loads(done.stdout)["dependencies"])
    except subprocess.TimeoutExpired:
        return True, "NOT AUDITED: the advisory feed gave no answer"
    except OSError as error:
        return True, f"NOT AUDITED: {tool} cannot be run ({error.strerror})"
    except (ValueError, LookupError):
        return True, f"NOT AUDITED: {(done.stderr.strip().splitlines() or ['no answer'])[-1][:200]}"


def verdict(packages: list[dict[str, Any]]) -> tuple[bool, str]:
    """What a report of pip-audit means: a package that its feed does not know was passed over, not found sound."""
    known = [package for package in packages if "skip_reason" not in package]
    found = [f"{p['name']} {p['version']}: {a['id']}" for p in known for a in p["vulns"]]
    if found:
        return False, "\n".join(f"advisory: {line}" for line in found)
    if len(known) < len(packages) or not packages:
        return True, f"NOT AUDITED: no advisory feed for {len(packages) - len(known)} of {len(packages)} packages"
    return True, f"audited: no known advisory for {len(known)} packages"


def installed() -> list[Distribution]:
    """Every installed package once, in order of its name."""
    found = {canonicalize_name(package.name): package for package in distributions()}
    return [found[name] for name in sorted(found)]


def main() -> int:
    """Say what is installed; the exit code."""
    packages = installed()
    if "--sbom" in sys.argv:
        out = Path(sys.argv[sys.argv.index("--sbom") + 1])
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(bill_of_materials(packages), indent=1) + "\n", encoding="utf-8")
        print(f"{out}: {len(packages)} packages")
        return 0
    if "--licences" in sys.argv:
        for package in packages:
            print(f"{package.name:32} {package.version:16} {licence_of(package)}")
        return 0
    versions = {canonicalize_name(package.name): package.version for package in packages}
    wrong = list(differences(versions, pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))))
    print(*(f"version: {line}" for line in wrong), sep="\n")
    for licence, count in Counter(map(licence_of, packages)).most_common():
        print(f"licence: {count:3} {licence}")
    is_clean, told = advisories()
    print(told)
    return 0 if is_clean and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
