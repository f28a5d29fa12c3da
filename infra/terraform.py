"""Terraform on the HCL of this package, in a directory of each cluster's own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.errors import CloudError, UsageError
from bothends.infra.terraform_errors import explained

__all__ = ["ClusterOutputs", "Plan", "Terraform", "terraform_home"]

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,22}[a-z0-9]")  # as the module's own validation
# Terraform reads these by itself, whoever calls it, a later one's values before an earlier one's.
_DEFAULTS: Final = "defaults.auto.tfvars.json"
_GIVEN: Final = "given-{:02d}.auto.tfvars"
_OPTIONS: Final = "options.auto.tfvars.json"
_PLAN: Final = "planned.tfplan"
# What of the package's folder is no HCL of the cluster's, or somebody's work in a checkout.
_LEFT: Final = shutil.ignore_patterns(
    "*.py", "__pycache__", "tests", "example.tfvars", ".terraform*", "*.tfstate*", "*.auto.tfvars*"
)
# Beginnings of lines that say how it goes, among those that list every attribute.
_PROGRESS: Final = ("Plan:", "No changes.", "module.", "Destroy complete!", "Error:")
_WHERE: Final = "https://developer.hashicorp.com/terraform/install"


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Plan(_Told):
    """What a plan says of the cluster."""

    price: str | None = Field(None, description="The cluster in the words of `--machine`.")
    usd_per_hour: float | None = Field(None, description="What an hour costs by the HCL's sum.")
    region: str = Field(description="Where it would be.")


class ClusterOutputs(_Told):
    """What Terraform knows of a cluster that it made; null where it has not been made yet."""

    cluster_id: str | None = Field(None, description="The cluster's id.")
    region: str | None = Field(None, description="Where it is.")
    bucket: str | None = Field(None, description="Its bucket.")
    connect_port: int = Field(15002, description="The Spark Connect server's port.")
    price: str | None = Field(None, description="The cluster in the words of `--machine`.")
    serverless_application_id: str | None = Field(None, description="The application, if any.")
    serverless_role_arn: str | None = Field(None, description="The role of its jobs, if any.")


def terraform_home(name: str) -> Path:
    """Return where a cluster's files are: below XDG_STATE_HOME, or ~/.local/state.

    Raises:
        UsageError: If it is no name for a cluster.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name!r}: give 3 to 24 lower-case letters, digits and hyphens, a letter first"
        )
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home).absolute() / "bothends" / "emr" / name


class Terraform:
    """Terraform for one cluster.

    It reads its variables from files in its directory, so that by hand
    `terraform -chdir=DIRECTORY plan` is the same.

    Args:
        home: The cluster's directory.
        tell: Is told each command that is run, and each line of what it prints.

    Attributes:
        directory: Where the HCL and the state are.

    Raises:
        CloudError: From all that runs it, if it is not installed or fails.
    """

    def __init__(self, home: Path, tell: Callable[[str], None] = lambda _: None) -> None:
        self._home, self._tell = home, tell
        self.directory = home / "terraform"
        self._region = home / "region"

    def prepare(
        self,
        options: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any],
        var_files: Sequence[Path] = (),
        preset: str | None = None,
    ) -> None:
        """Write the HCL, the price list and the variables.

        Args:
            options: Variables; they go before those of the files.
            defaults: Variables that all others go before.
            var_files: Files of variables; a later one goes before an earlier one.
            preset: One of the package's own files of variables, which all others go before.

        Raises:
            UsageError: If a file cannot be read, or the directory cannot be written.
        """
        try:
            with resources.as_file(resources.files("bothends.terraform")) as hcl:
                shutil.copytree(hcl, self.directory, ignore=_LEFT, dirs_exist_ok=True)
            (self._home / "infra").mkdir(exist_ok=True)
            prices = resources.files("bothends.infra").joinpath("machines.yaml").read_bytes()
            (self._home / "infra" / "machines.yaml").write_bytes(prices)
            for old in self.directory.glob("*.auto.tfvars*"):
                old.unlink()
            presets = [self.directory / f"{preset}.tfvars"] if preset else []
            for number, file in enumerate([*presets, *var_files]):
                suffix = ".json" if file.suffix == ".json" else ""
                text = file.read_text("utf-8")
                (self.directory / (_GIVEN.format(number) + suffix)).write_text(text, "utf-8")
            for file_name, values in ((_DEFAULTS, defaults), (_OPTIONS, options)):
                text = json.dumps(dict(values), indent=2) + "\n"
                (self.directory / file_name).write_text(text, "utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot prepare {self.directory}: {error}") from error

    def defaults(self) -> dict[str, Any]:
        """Return the defaults that were written last; none where none were."""
        return _read_json(self.directory / _DEFAULTS)

    def init(self) -> None:
        """Get the provider."""
        self._run("init", quiet=True)

    def plan(self, *, quiet: bool = False) -> Plan:
        """Find out what would be done, for `apply` to do it.

        Args:
            quiet: Whether to tell only what it comes to.
        """
        self._run("plan", f"-out={_PLAN}", quiet=quiet)
        shown = json.loads(self._ask("show", "-json", _PLAN))
        told = shown.get("planned_values", {}).get("outputs", {})
        return Plan.model_validate({name: each.get("value") for name, each in told.items()})

    def apply(self, plan: Plan) -> ClusterOutputs:
        """Do what was planned.

        Raises:
            UsageError: If the cluster is there already, in another region: elsewhere Terraform
                would find nothing of it, and forget it.
        """
        there = self.region if self.resources() else None
        if there not in (None, plan.region):
            raise UsageError(
                f"{self._home.name} is in {there}, not in {plan.region}: take it down first, or "
                "give another --name"
            )
        self._region.write_text(plan.region)
        self._run("apply", "-auto-approve", _PLAN)
        (self.directory / _PLAN).unlink(missing_ok=True)
        return self.outputs()

    def destroy(self, *targets: str) -> None:
        """Take down what was made.

        Args:
            targets: Addresses of what goes, with all that needs it; all there is for none.
        """
        there = self.region
        # Whatever a later plan was asked: what was made is where it was made.
        region = [f"-var=region={there}"] if there else []
        only = [f"-target={each}" for each in targets]
        self._run("destroy", "-auto-approve", *region, *only, quiet=True)

    def outputs(self) -> ClusterOutputs:
        """Return what is known of what was made."""
        told = json.loads(self._ask("output", "-json"))
        try:
            return ClusterOutputs.model_validate(
                {name: each["value"] for name, each in told.items() if each["value"] is not None}
            )
        except ValidationError as error:
            raise CloudError(f"Terraform's outputs are not as they should be: {error}") from error

    def resources(self) -> tuple[str, ...]:
        """Return the addresses of what is there, as far as Terraform knows."""
        listed = _read_json(self.directory / "terraform.tfstate").get("resources", [])
        return tuple(
            ".".join(filter(None, [each.get("module"), each["type"], each["name"]]))
            for each in listed
            if each["mode"] == "managed"
        )

    @property
    def region(self) -> str | None:
        """Where the cluster was made; None where it was not."""
        return self._region.read_text() if self._region.exists() else None

    def _command(self, *arguments: str) -> list[str]:
        binary = shutil.which("terraform")
        if binary is None:
            raise CloudError(f"Terraform is not on PATH; get 1.9 or newer from {_WHERE}")
        return [binary, *arguments]

    def _ask(self, *arguments: str) -> str:
        done = subprocess.run(  # noqa: S603 - Terraform's own commands, no shell
            self._command(*arguments),
            cwd=self.directory,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CloudError(explained(arguments[0], done.stderr, self.directory))
        return done.stdout

    def _run(self, *arguments: str, quiet: bool = False) -> None:
        # Behind the command, and before a plan's file, which must be last.
        words = [arguments[0], "-input=false", "-no-color", *arguments[1:]]
        command = self._command(*words)
        self._tell("$ " + shlex.join(["terraform", f"-chdir={self.directory}", *words]))
        said: list[str] = []
        # In a group of its own: a Ctrl+C reaches it once, from here. A second would kill it, and
        # with it what it has yet to write down of what it made.
        with subprocess.Popen(  # noqa: S603 - Terraform's own commands, no shell
            command,
            cwd=self.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            try:
                for line in process.stdout:
                    said.append(line)
                    if not quiet or line.startswith(_PROGRESS):
                        self._tell(line.rstrip())
            except BaseException:
                self._let_end(process)
                raise
        if process.returncode:
            raise CloudError(explained(arguments[0], "".join(said), self.directory))

    def _let_end(self, process: subprocess.Popen[str]) -> None:
        """Ask Terraform to end, and wait until it has written down what it made."""
        self._tell("Terraform was asked to stop, and writes down what it has made; this may take")
        process.send_signal(signal.SIGINT)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for line in process.stdout or ():
                self._tell(line.rstrip())
            process.wait()
        finally:
            signal.signal(signal.SIGINT, before)


def _environment() -> dict[str, str]:
    """Return ours, TF_CLI_CONFIG_FILE and AWS_... included."""
    return {**os.environ, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}


def _read_json(path: Path) -> dict[str, Any]:
    """Return a file's object; an empty one where there is none."""
    try:
        read: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CloudError(f"{path} cannot be read: {error}") from error
    return read
