"""Prompts as files, one for each step and language; the loader serves the pipeline's prompts too."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib import resources
from string import Template

from sag_retrieval.core.errors import SettingsError

LANGUAGES = ("en", "zh")

_RULE = "\n---\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with `$name` places (`$$` is a dollar). `version` changes with any character of its file.

    `system` is what stands above the first line `---` of the file, or empty: instructions without places.
    """

    name: str
    language: str
    system: str
    text: str
    version: str

    @property
    def places(self) -> frozenset[str]:
        """Names that `fill` wants."""
        return frozenset(Template(self.text).get_identifiers())

    def fill(self, **values: object) -> str:
        """The text with every place filled; a `$` inside a value stays as it is.

        Raises:
            SettingsError: If a value is missing, or one is given that the prompt has no place for.

        """
        if values.keys() != self.places:
            raise SettingsError(
                f"prompt {self.name}.{self.language} has places {sorted(self.places)}, got {sorted(values)}"
            )
        return Template(self.text).substitute(values)


@lru_cache(maxsize=256)
def load_prompt(name: str, language: str, package: str = "sag_retrieval.prompts") -> Prompt:
    """The prompt `name` of a package, Chinese for any language that starts with `zh`, else English.

    Raises:
        SettingsError: If the package has no such prompt, or a stray `$` in it.

    """
    code = "zh" if language.lower().startswith("zh") else "en"
    file = resources.files(package) / f"{name}.{code}.md"
    if not file.is_file():
        raise SettingsError(f"no prompt {name!r} in {code!r}; {package} has {list(prompt_names(package))}")
    source = file.read_text(encoding="utf-8")
    system, rule, text = source.partition(_RULE)
    if not rule:
        system, text = "", source
    if not Template(text).is_valid():
        raise SettingsError(f"prompt {name}.{code}.md of {package} has a stray `$`; write `$$` for a dollar")
    version = blake2b(source.encode("utf-8"), digest_size=8).hexdigest()
    return Prompt(name, code, system.strip(), text.strip(), version)


def prompt_names(package: str = "sag_retrieval.prompts") -> tuple[str, ...]:
    """Names of a package's prompts, in order; each is there in every one of `LANGUAGES`."""
    files = {file.name for file in resources.files(package).iterdir() if file.name.endswith(".md")}
    return tuple(sorted({name.removesuffix(".md").rpartition(".")[0] for name in files}))
