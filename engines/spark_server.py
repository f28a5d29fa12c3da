"""A Spark Connect server of our own: one child process on the loopback, gone when we are gone."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bothends.engines.java import JavaRuntime
from bothends.engines.spark_process import SparkProcess, free_port
from bothends.infra.errors import EngineError

__all__ = ["SparkServer"]

_MAIN_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_TIMEOUT_S: Final = 180.0
_POLL_S: Final = 0.02
# Where the driver is found by its executors, and its clients by nobody but us.
_LOOPBACK: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# The UI tells what queries took, and does nothing. It keeps little: facts are asked for soon.
_UI: Final = {
    "spark.ui.enabled": "true",
    "spark.ui.killEnabled": "false",
    "spark.ui.threadDumpsEnabled": "false",
    "spark.ui.heapHistogramEnabled": "false",
    "spark.ui.prometheus.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "500",
    "spark.ui.retainedStages": "1000",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "200",
}


class SparkServer(SparkProcess):
    """A running server; ready for clients once constructed.

    Attributes:
        url: What a Spark Connect client connects to.
        ui_port: Where its UI listens, on the loopback; None where it has none.
    """

    def __init__(
        self,
        java: JavaRuntime,
        *,
        options: Sequence[str],
        conf: Mapping[str, str],
        loopback: bool = True,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        """Start the server and wait until its port is open.

        Args:
            java: The runtime to use.
            options: Options for Java, beside those that Spark cannot do without.
            conf: Spark's settings, `spark.master` among them.
            loopback: Whether all of the cluster is on this machine; otherwise the executors must
                be able to reach the driver, and find it by this machine's own address.
            port: The port for clients; 0 for any that is free.
            log: The file that its output goes to; None for one that goes with it.

        Raises:
            EngineError: If it dies or does not open its port in time; the message ends with the
                last lines of its log.
        """
        port = port or free_port()
        # Where others must reach the driver, its UI would be open to them too.
        self.ui_port = free_port() if loopback else None
        ui = {"spark.ui.enabled": "false"}
        if self.ui_port is not None:
            ui = {**_UI, "spark.ui.port": str(self.ui_port)}
        own = {
            "spark.app.name": "bothends",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.local.dir": "{work}/local",
            "spark.log.level": "OFF",
            "spark.sql.warehouse.dir": "{work}/warehouse",
        }
        super().__init__(
            java,
            _MAIN_CLASS,
            options=options,
            conf={**conf, **own, **ui, **(_LOOPBACK if loopback else {})},
            env={"SPARK_LOCAL_IP": "127.0.0.1"} if loopback else {},
            log=log,
        )
        self.url = f"sc://127.0.0.1:{port}"
        self._wait(port)

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while self.alive and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
                return
            time.sleep(_POLL_S)
        what = "did not open its port in time" if self.alive else "ended while it started"
        tail = self.log_tail
        self.close()
        raise EngineError(f"the local Spark server {what}. Its log ends:\n{tail}")
