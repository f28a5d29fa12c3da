"""What `--machine` takes: a machine, a figure, a cluster's nodes, a scan's price, or a name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection

from bothends.infra.cluster_cost import CLUSTER_PREFIXES, CloudRates, ClusterCost, parse_cluster
from bothends.infra.engine_price import EnginePrice, Machine, ScanPrice
from bothends.infra.errors import UsageError
from bothends.infra.price_lists import BundledPrices, PriceFile
from bothends.infra.price_words import amount, options

__all__ = ["EngineBook"]

_SCAN = "scan:"


class EngineBook:
    """Prices of engines' work, from the bundled lists and a price file, which goes before them.

    Args:
        bundled: The lists that the package brings along.
        own: The price file.
        file_name: Its name.
    """

    def __init__(self, bundled: BundledPrices, own: PriceFile, file_name: str) -> None:
        cited = bundled.ec2.cite()
        self._machines = {
            name: Machine(name, usd, cited) for name, usd in bundled.ec2.usd_per_hour.items()
        }
        self._file = f"price file {file_name}"
        for name, rate in own.machines.items():
            self._machines[name] = Machine(name, rate.usd_per_hour, rate.source or self._file)
        self._fees = {**bundled.emr.usd_per_hour, **own.emr}
        self._engines = {**bundled.engines, **own.engines}
        self._own = own
        self._bundled = bundled

    def machine(self, name: str) -> Machine:
        """Return a machine by its name, or for a plain number one that costs so much an hour.

        Raises:
            UsageError: If no list has it; the message names those that are known.
        """
        if name in self._machines:
            return self._machines[name]
        try:
            usd_per_hour = float(name)
        except ValueError:
            pass
        else:
            if math.isfinite(usd_per_hour) and usd_per_hour >= 0:
                return Machine("a machine", usd_per_hour, "price as given")
            raise UsageError(f"a machine cannot cost {name} USD per hour; give 0 or more")
        raise UsageError(
            f"no price for machine {name!r}{_hint(name, self._machines)} Known: "
            f"{', '.join(sorted(self._machines))}. Give its price in USD per hour instead (such "
            "as 0.35), or add it to a price file."
        )

    def engine(self, name: str) -> EnginePrice:
        """Return what an engine's work costs.

        Args:
            name: One of these.

                - `m7i.xlarge`: a machine of the price lists.
                - `0.35`: a machine of one's own, in dollars per hour.
                - `emr:r5b.xlarge+32xr5b.xlarge?ebs_gb=128`: an EMR cluster, from its nodes; see
                  `parse_cluster`. With `ec2:` there is no EMR fee.
                - `scan:5?least_mb=10`: dollars per terabyte scanned, and the megabytes that each
                  query is charged for at least.
                - `paper-emr`, `athena`: a name that the bundled list or the price file gives one
                  of the above.

        Raises:
            UsageError: If it is none of these, or a price is not known.
        """
        named = self._engines.get(name)
        text = name if named is None else named.price
        source = "" if named is None else named.source or ""
        price = self._priced(text, name, source)
        if price is not None:
            return price
        if named is not None:
            machine = self.machine(text)
            shown = f"{name} ({machine.name})"
            return Machine(shown, machine.usd_per_hour, source or machine.source)
        if name in self._machines or _is_number(name):
            return self.machine(name)
        known = [*self._engines, *self._machines]
        raise UsageError(
            f"no price for machine {name!r}{_hint(name, known)} Known: "
            f"{', '.join(sorted(known))}. Or give dollars per hour (0.35), a cluster's nodes "
            "(emr:m5.xlarge+4xm5.xlarge?ebs_gb=64), or dollars per terabyte scanned (scan:5), "
            "or add it to a price file."
        )

    def _priced(self, text: str, name: str, source: str) -> EnginePrice | None:
        """Return the price of nodes or scans; None where the text is of neither form."""
        if text.startswith(_SCAN):
            price, _, query = text.removeprefix(_SCAN).partition("?")
            least_mb = options(text, query, ("least_mb",)).get("least_mb", 0.0)
            usd_per_tb = amount(text, _SCAN, price)
            given = self._file if name in self._own.engines else "price as given"
            return ScanPrice(name, usd_per_tb, math.ceil(least_mb), source or given)
        if not text.startswith(CLUSTER_PREFIXES):
            return None
        cost = parse_cluster(text).cost(
            CloudRates(
                ec2={each.name: each.usd_per_hour for each in self._machines.values()},
                emr=self._fees,
                emr_share=self._bundled.emr.share_of_ec2,
                ebs_usd_per_gb_month=self._disk_usd(),
            )
        )
        shown = text if name == text else f"{name} ({text})"
        return Machine(shown, cost.usd_per_hour, self._cited(cost, source))

    def _disk_usd(self) -> float:
        own = self._own.ebs_usd_per_gb_month
        return self._bundled.ebs.usd_per_gb_month if own is None else own

    def _cited(self, cost: ClusterCost, source: str) -> str:
        """Say what an hour of a cluster is made of, and by which lists."""
        parts = [f"EC2 {cost.ec2_usd:.10g}"]
        lists = [self._bundled.ec2.cite()]
        if cost.emr_usd:
            share = f"{self._bundled.emr.share_of_ec2:.0%} of EC2's"
            assumed = f" ({share} for {', '.join(cost.fee_unlisted)})" if cost.fee_unlisted else ""
            parts.append(f"EMR {cost.emr_usd:.10g}{assumed}")
            lists.append(self._bundled.emr.cite())
        if cost.ebs_usd:
            parts.append(f"EBS {cost.ebs_usd:.4g}")
            lists.append(self._bundled.ebs.cite())
        if self._own.machines or self._own.emr or self._own.ebs_usd_per_gb_month is not None:
            lists.append(f"changed by {self._file}")
        return "; ".join([f"USD per hour: {' + '.join(parts)}", *lists, *filter(None, [source])])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hint(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else "."
